/// Declares [`Features`] with the names that `weights.json` uses.
macro_rules! features {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What speaks for or against one file; see `signals` and `rerank` for how each comes
        /// about. Scores named by a field and a part of the text are BM25, divided by the
        /// highest of the request, so that all lie in 0..=1 and mean the same in every
        /// repository.
        #[derive(Debug, Clone, Copy, Default, PartialEq)]
        pub struct Features { $($(#[$doc])* pub $name: f32,)* }

        impl Features {
            /// In the order of [`Features::values`].
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            pub fn values(&self) -> [f32; Self::NAMES.len()] {
                [$(self.$name),*]
            }
        }
    };
}

features! {
    /// Content against the whole text.
    content_all,
    /// Content against the title.
    content_title,
    /// Content against identifiers in code style, backticked text and code blocks.
    content_code,
    /// Content, definitions, name and folders together (BM25F): a term counts once, wherever it
    /// stands.
    fused_all,
    fused_title,
    fused_code,
    name_all,
    name_title,
    name_code,
    dirs_all,
    dirs_title,
    /// Names of definitions against the text.
    symbols_all,
    symbols_title,
    symbols_code,
    /// Definitions of exactly the identifiers that the text writes.
    defines,
    /// The best single one of those.
    defines_best,
    /// Definitions of the last part of dotted names whose other parts name the file as well.
    qualified,
    /// A path or file name in the text means this file.
    mentioned,
    /// A dotted name in the text means this module.
    module,
    /// A stack trace passes through it; the innermost frame of the repository counts 1.
    trace,
    /// It holds the innermost frame.
    trace_top,
    /// The word that is its stem stands in the title.
    stem_in_title,
    /// Best 60 lines against the whole text.
    chunk_all,
    chunk_second,
    chunk_title,
    chunk_code,
    /// Best single definition, from its line to the next one's, likewise.
    unit_all,
    unit_title,
    unit_code,
    /// Share of the text's term weight that the file holds.
    coverage,
    /// Candidates that import it, weighed by their own standing.
    imported_by,
    /// Candidates that it imports, likewise.
    imports,
    /// Standing of the best other candidate in its folder.
    siblings,
    /// Standing of the best test named after it.
    tested_by,
    /// How often the newest commits changed it, later ones counting more.
    churn,
    /// How lately it was changed, against the other commits.
    recent,
    /// Changed by commits whose message is like the text.
    past_all,
    past_title,
    /// All that was said of its changes, against the text.
    said_all,
    said_title,
    /// Changed together with other candidates, weighed by their standing.
    cochange,
    /// Holds sentences that the text quotes, such as error messages.
    phrases,
    /// Natural logarithm of 1 + terms, over 10.
    length,
    depth,
    /// Share of the repository's code that is written in its language.
    language_share,
    test_name,
    test_dir,
    /// A test, and the text speaks of tests.
    test_asked,
    docs,
    example,
    generated,
    vendored,
    prose,
    config,
    /// `__init__.py`, `index.js`, `mod.rs` and the like.
    package_file,
    unread,
}
