//! What can be typed, and that `--help` teaches it.

use clap::{CommandFactory, Parser};
use insta::assert_snapshot;

use super::{Global, NodeCommand, Operator};

#[derive(Debug, Parser)]
#[command(name = "colony", version = "0", propagate_version = true)]
struct Tool {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Typed,
}

#[derive(Debug, clap::Subcommand)]
enum Typed {
    #[command(flatten)]
    Operator(Operator),
    #[command(subcommand)]
    Node(NodeCommand),
}

pub(crate) fn global(arguments: &[&str]) -> Global {
    let words = ["colony"].iter().chain(arguments).chain(&["status"]);
    Tool::try_parse_from(words).expect("a command").global
}

pub(crate) fn operator(line: &str) -> Operator {
    match parse(line).expect("a command").command {
        Typed::Operator(operator) => operator,
        Typed::Node(node) => Operator::Node(node),
    }
}

fn parse(line: &str) -> Result<Tool, clap::Error> {
    Tool::try_parse_from(["colony"].into_iter().chain(line.split_whitespace()))
}

#[test]
fn the_command_line_is_sound() {
    Tool::command().debug_assert();
}

#[test]
fn the_story_can_be_typed() {
    for line in [
        "status",
        "deploy hello --watch",
        "node invite --site home",
        "site add plant-b",
        "deploy hello --version 1.1 --site home,plant-b --watch",
        "logs hello --node home/laptop --previous",
        "quarantine release hello --site home",
        "quarantine list",
        "why hello --site plant-b",
        "why --site plant-b",
        "deployment rollback hello --to 1.0",
        "deployment delete hello --watch",
        "deployment history hello -o json",
        "deployment retry hello --node home/laptop",
        "event --follow --deployment hello --last 5",
        "hold --site plant-b --note audit",
        "release --site plant-b --what removal",
        "repo clone",
        "app lint a b",
        "node retire home/laptop --yes",
        "--socket /run/x.sock hold hello",
    ] {
        assert!(parse(line).is_ok(), "{line}: {:?}", parse(line).err());
    }
}

#[test]
fn what_is_wrong_is_said() {
    check("deploy", "the following required arguments were not provided:");
    check("deploy hello --set greeting", "invalid value 'greeting' for '--set <KEY=VALUE>': expected KEY=VALUE");
    check("deploy hello --max-unavailable 0", "invalid value '0' for '--max-unavailable <N|N%>': expected a count such as 1 or a share such as 25%");
    check("deploy hello --max-unavailable 150%", "invalid value '150%' for '--max-unavailable <N|N%>': expected a count such as 1 or a share such as 25%");
    check("deploy hello --replicas 0", "invalid value '0' for '--replicas <N>': 0 is not in 1..4294967295");
    check("node cordon laptop", "invalid value 'laptop' for '<SITE/NODE>': expected SITE/NODE, such as home/laptop");
    check("node invite --lifetime 5x", "invalid value '5x' for '--lifetime <TIME>': expected a time such as 30m, 1h or 7d");
    check("deploy hello --dry-run --watch", "the argument '--dry-run' cannot be used with '--watch'");
    check("why", "the following required arguments were not provided:");
}

#[test]
fn flags_become_a_request() {
    let line = "deploy hello --version 1.1 --site a,b --set greeting=Hi=there --set n=3 \
                --max-unavailable 25% --on-failure stop --replicas 2 --selector line=3";
    assert_snapshot!(request(line), @"");
    assert_snapshot!(request("deploy camera --node plant-b/b2 --name cam"), @"");
}

#[test]
fn help_teaches_the_commands() {
    assert_snapshot!(help(&[]), @"");
}

#[test]
fn help_of_deploy_has_examples_and_exit_codes() {
    assert_snapshot!(help(&["deploy"]), @"");
}

fn request(line: &str) -> String {
    let Operator::Deploy(deploy) = operator(line) else { panic!("deploy was typed") };
    colony_margo::yaml::emit(&serde_json::to_value(deploy.request()).expect("JSON"))
}

fn help(path: &[&str]) -> String {
    let mut tool = Tool::command().term_width(100);
    tool.build();
    let command = path.iter().fold(&mut tool, |it, name| it.find_subcommand_mut(name).expect("it"));
    command.render_long_help().to_string()
}

#[track_caller]
fn check(line: &str, expected: &str) {
    let error = parse(line).expect_err("wrong").to_string();
    let first = error.lines().next().unwrap_or_default();
    assert_eq!(first, format!("error: {expected}"));
}
