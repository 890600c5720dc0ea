/// Most tokens that are evaluated at once.
pub(super) const SPAN: usize = 128;

/// Tokens, and the spans that they are evaluated in.
///
/// What is evaluated together decides how sums are rounded, and in a quantised model a last bit
/// grows to a tenth of a logit and more. So a stream is cut by its own history alone, and a cached
/// beginning is reused as far as it was cut the same way: asking again gives the same text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Stream {
    tokens: Vec<i32>,
    /// Where spans end, rising. Tokens after the last are not cut yet.
    ends: Vec<usize>,
}

impl Stream {
    pub fn tokens(&self) -> &[i32] {
        &self.tokens
    }

    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    pub fn push(&mut self, tokens: &[i32]) {
        self.tokens.extend_from_slice(tokens);
    }

    /// Adds a token that is evaluated alone.
    pub fn push_sampled(&mut self, token: i32) {
        self.tokens.push(token);
        self.ends.push(self.tokens.len());
    }

    /// Cuts what is not cut yet, at multiples of `span`.
    pub fn cut(&mut self, span: usize) {
        let mut at = self.ends.last().copied().unwrap_or(0);
        while at < self.tokens.len() {
            at = (at + 1).next_multiple_of(span).min(self.tokens.len());
            self.ends.push(at);
        }
    }

    /// End of the span that begins at `start`, when there is one.
    pub fn span_end(&self, start: usize) -> Option<usize> {
        self.ends.get(self.ends.partition_point(|end| *end <= start)).copied()
    }

    /// The last end that is at most `most`; 0 when there is none.
    pub fn end_before(&self, most: usize) -> usize {
        match self.ends.partition_point(|end| *end <= most) {
            0 => 0,
            count => self.ends[count - 1],
        }
    }

    /// Length of the beginning that both hold and cut the same way.
    pub fn agreed(&self, other: &Self) -> usize {
        let common = common(&self.tokens, &other.tokens);
        let alike = self.ends.iter().zip(&other.ends).take_while(|(a, b)| a == b && **a <= common);
        alike.last().map_or(0, |(end, _)| *end)
    }

    /// The first `len` tokens; `len` is the end of a span.
    pub fn beginning(&self, len: usize) -> Self {
        let ends = self.ends[..self.ends.partition_point(|end| *end <= len)].to_vec();
        Self { tokens: self.tokens[..len].to_vec(), ends }
    }

    pub fn clear(&mut self) {
        self.tokens.clear();
        self.ends.clear();
    }
}

/// Length of the common beginning.
pub(super) fn common(a: &[i32], b: &[i32]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(prompt: i32, sampled: i32) -> Stream {
        let mut stream = Stream::default();
        stream.push(&(0..prompt).collect::<Vec<_>>());
        stream.cut(10);
        (0..sampled).for_each(|token| stream.push_sampled(1000 + token));
        stream
    }

    #[test]
    fn a_stream_is_cut_at_multiples_and_where_sampling_began() {
        let mut stream = stream(25, 2);
        stream.push(&[7; 8]);
        assert_eq!(stream.span_end(27), None);
        stream.cut(10);
        assert_eq!(stream.ends, [10, 20, 25, 26, 27, 30, 35]);
        assert_eq!(
            [0, 10, 25, 27, 30].map(|at| stream.span_end(at).unwrap()),
            [10, 20, 26, 30, 35]
        );
        assert_eq!(stream.span_end(35), None);
        assert_eq!([9, 10, 24, 99].map(|most| stream.end_before(most)), [0, 10, 20, 35]);
    }

    #[test]
    fn streams_agree_as_far_as_they_are_cut_alike() {
        assert_eq!(stream(25, 3).agreed(&stream(25, 1)), 26);
        assert_eq!(stream(25, 0).agreed(&stream(28, 0)), 20);
        assert_eq!(stream(5, 0).agreed(&stream(9, 0)), 0);
        assert_eq!(stream(25, 3).beginning(26), stream(25, 1));
        assert_eq!(stream(25, 3).beginning(0), Stream::default());
    }
}
