use anyhow::bail;
use clap::ValueEnum;
use codegrep_lab::reward::{Kind, Rules, stream};
use codegrep_score::reward::Settings;

#[derive(clap::Args)]
pub struct Args {
    /// Read rows from standard input and write rewards to standard output
    #[arg(long, required = true)]
    stdin: bool,
    /// Which reward, where a row does not name one
    #[arg(long, value_enum, default_value = "v3")]
    reward: KindArg,
    /// Below 1, precision counts more
    #[arg(long, value_name = "X", default_value_t = 0.5)]
    beta: f64,
    /// Weight of the files in v1 and v2
    #[arg(long, value_name = "X", default_value_t = 0.5)]
    file_weight: f64,
    /// Weight of the line ranges in v1 and v2
    #[arg(long, value_name = "X", default_value_t = 0.5)]
    line_weight: f64,
    /// Leave mined files out of the target
    #[arg(long)]
    no_merge: bool,
    /// Share of the recall of mined files in the reward; needs --no-merge
    #[arg(long, value_name = "X", default_value_t = 0.0)]
    alpha: f64,
    /// codescout: add 1 for ending at exactly this turn
    #[arg(long, value_name = "N")]
    bonus_at: Option<u32>,
}

#[derive(Clone, Copy, ValueEnum)]
enum KindArg {
    V1,
    V2,
    V3,
    Codescout,
}

pub fn run(args: Args) -> anyhow::Result<()> {
    let rules = Rules {
        kind: match args.reward {
            KindArg::V1 => Kind::V1,
            KindArg::V2 => Kind::V2,
            KindArg::V3 => Kind::V3,
            KindArg::Codescout => Kind::Codescout,
        },
        settings: Settings {
            beta: args.beta,
            file_weight: args.file_weight,
            line_weight: args.line_weight,
            merge: !args.no_merge,
            alpha: args.alpha,
            ..Settings::default()
        },
        bonus_at: args.bonus_at,
    };
    if let Err(why) = rules.check() {
        bail!(why);
    }
    let counts = stream(std::io::stdin().lock(), std::io::stdout().lock(), &rules)?;
    if counts.refused > 0 {
        eprintln!(
            "warning: {} of {} rows could not be rewarded: look for \"error\" in the output",
            counts.refused,
            counts.scored + counts.refused
        );
    }
    Ok(())
}
