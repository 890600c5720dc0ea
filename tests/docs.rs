//! The reference of the command line, `docs/cli.md`, holds what the program itself prints.

use std::fs;

use codegrep_tests::{Codegrep, checkout};

/// Every block of the page that begins with a command shows what that command prints.
/// `UPDATE_EXPECT=1` writes the page anew.
#[test]
fn the_reference_shows_what_the_commands_print() {
    let page = checkout().join("docs/cli.md");
    let text = fs::read_to_string(&page).unwrap();
    let mut parts = text.split("```\n$ codegrep ");
    let mut fresh = parts.next().unwrap().to_owned();
    let mut commands = 0;
    for part in parts {
        let (command, rest) = part.split_once('\n').expect("a command's line");
        let (_, after) = rest.split_once("```\n").expect("the end of a block");
        let run = Codegrep::new(command.split(' ')).run();
        assert_eq!(run.code, Some(0), "{run:#?}");
        // Options whose help is one line long end in spaces that no editor keeps.
        let printed: String =
            run.stdout.lines().map(|line| line.trim_end().to_owned() + "\n").collect();
        fresh += &format!("```\n$ codegrep {command}\n{printed}```\n{after}");
        commands += 1;
    }
    assert!(commands > 4, "docs/cli.md shows only {commands} commands");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&page, &fresh).unwrap();
    }
    assert!(fs::read_to_string(&page).unwrap() == fresh, "docs/cli.md is stale: UPDATE_EXPECT=1");
}
