//! What can be typed, and that `--help` teaches it.

use clap::{CommandFactory, Parser};
use insta::assert_snapshot;

use colony_core::document::SettingName;

use super::{Global, NodeCommand, Operator};

/// How the heading of the settings in `--help` begins.
const SETTINGS: &str = "Settings, which stay";

#[derive(Debug, Parser)]
#[command(name = "colony", version = "0", propagate_version = true)]
struct Tool {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Typed,
}

/// The operator's part of colony
#[derive(Debug, clap::Subcommand)]
enum Typed {
    #[command(flatten)]
    Operator(Box<Operator>),
    /// Nodes of sites
    #[command(subcommand)]
    Node(NodeCommand),
}

pub(crate) fn global(arguments: &[&str]) -> Global {
    let words = ["colony"].iter().chain(arguments).chain(&["status"]);
    Tool::try_parse_from(words).expect("a command").global
}

pub(crate) fn operator(line: &str) -> Operator {
    match parse(line).expect("a command").command {
        Typed::Operator(operator) => *operator,
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
        "why",
        "deployment rollback hello --to 1.0",
        "deployment delete hello --watch",
        "deploy hello --watch --timeout 10m",
        "deployment rollback hello --watch --timeout 90s",
        "token create ci --role operator --site plant-b --lifetime 90d",
        "token list",
        "token delete ci",
        "app registry show apps",
        "app registry sync apps",
        "change list",
        "change cancel 0193",
        "deployment history hello -o json",
        "deployment retry hello --node home/laptop",
        "event --follow --deployment hello --last 5",
        "hold --site plant-b --note audit",
        "release --site plant-b --what removal",
        "repo clone",
        "app lint a b",
        "app new camera --registry registry.example/line3",
        "app package camera",
        "app push camera --user ci --password-file secret --insecure",
        "logs hello --raw",
        "node retire home/laptop --yes",
        "--socket /run/x.sock hold hello",
    ] {
        assert!(parse(line).is_ok(), "{line}: {:?}", parse(line).err());
    }
}

#[test]
fn what_is_wrong_is_said() {
    check("deploy", "the following required arguments were not provided:");
    check(
        "deploy hello --set greeting",
        "invalid value 'greeting' for '--set <KEY=VALUE>': expected KEY=VALUE",
    );
    check(
        "deploy hello --max-unavailable 150%",
        "invalid value '150%' for '--max-unavailable <N|N%>': expected a number of nodes from 1, or a percentage from `1%` to `100%`",
    );
    check(
        "deploy hello --replicas 0",
        "invalid value '0' for '--replicas <N>': 0 is not in 1..=100000",
    );
    check(
        "deploy hello --soak 5x",
        "invalid value '5x' for '--soak <DURATION>': expected a duration such as `30s`, `5m` or `1h30m`",
    );
    check(
        "deploy hello --selector=",
        "invalid value '' for '--selector <KEY=VALUE,…>': expected KEY=VALUE; --clear selector removes it",
    );
    let settings: Vec<String> = SettingName::all().map(|it| it.to_string()).collect();
    let expected = format!("expected one of {}", settings.join(", "));
    let wrong = "invalid value 'labels' for '--clear <NAME,…>'";
    check("deploy hello --clear labels", &format!("{wrong}: {expected}"));
    check("deploy hello --strategy waves", "invalid value 'waves' for '--strategy <TYPE>'");
    check(
        "node cordon laptop",
        "invalid value 'laptop' for '<SITE/NODE>': expected SITE/NODE, such as home/laptop",
    );
    check(
        "node invite --lifetime 5x",
        "invalid value '5x' for '--lifetime <TIME>': expected a time such as 30m, 1h or 7d",
    );
    check(
        "deploy hello --dry-run --watch",
        "the argument '--dry-run' cannot be used with '--watch'",
    );
    check("deploy hello --timeout 5m", "the following required arguments were not provided:");
    check(
        "deploy hello --watch --timeout soon",
        "invalid value 'soon' for '--timeout <TIME>': expected a time such as 30m, 1h or 7d",
    );
    check("token create ci", "the following required arguments were not provided:");
}

#[test]
fn wide_tables_are_refused_where_they_show_no_more() {
    let check = |line: &str| super::check_format(&operator(line), super::Format::Wide).is_ok();
    for line in ["status", "deployment show hello", "site list", "node list", "event"] {
        assert!(check(line), "{line}");
    }
    for line in ["why hello", "logs hello", "token list", "app list"] {
        assert!(!check(line), "{line}");
    }
}

#[test]
fn flags_become_a_request() {
    let line = "deploy hello --version 1.1 --site a,b --set greeting=Hi=there --set n=3 \
                --max-unavailable 25% --on-failure stop --replicas 2 --selector line=3";
    assert_snapshot!(request(line), @r#"
    application: hello
    dryRun: false
    parameters:
      greeting: "Hi=there"
      "n": "3"
    settings:
      onFailure: stop
      replicas: 2
      selector:
        line: "3"
      strategy:
        maxUnavailable: "25%"
    sites:
    - a
    - b
    version: "1.1"
    "#);
    let line = "deploy hello --strategy canary --canary line=press --steps 2,50% --soak 90s \
                --promote manual --retry-installs 5 --retry-updates 2 --progress-deadline 15m \
                --proven-after 5m --follow stable --clear selector,strategy.maxUnavailable";
    assert_snapshot!(request(line), @r#"
    application: hello
    dryRun: false
    settings:
      clear:
      - selector
      - strategy.maxUnavailable
      follow: stable
      progressDeadline: "15m"
      retry:
        installs: 5
        updates: 2
      soak: "5m"
      strategy:
        canary:
          line: press
        promote: manual
        soak: "1m30s"
        steps:
        - 2
        - "50%"
        type: canary
    "#);
    assert_snapshot!(request("deploy camera --node plant-b/b2 --name cam"), @r"
    application: camera
    dryRun: false
    name: cam
    node: plant-b/b2
    sites:
    - plant-b
    ");
}

#[test]
fn every_setting_has_a_flag() {
    let line = setting_flags().fold("deploy hello".to_owned(), |line, flag| {
        let value = match flag.get_possible_values().first() {
            Some(value) => value.get_name().to_owned(),
            None => example(flag.get_value_names().expect("it takes a value")[0].as_str()),
        };
        format!("{line} --{} {value}", flag.get_long().expect("it is long"))
    });
    let Operator::Deploy(deploy) = operator(&line) else { panic!("deploy was typed") };
    let set = serde_json::to_value(deploy.request().settings).expect("JSON");
    for name in SettingName::all() {
        let path = format!("/{}", name.to_string().replace('.', "/"));
        assert!(set.pointer(&path).is_some(), "{name} has no flag");
    }
}

/// The flags of `deploy` that set a setting.
fn setting_flags() -> impl Iterator<Item = clap::Arg> {
    let tool = Tool::command();
    let deploy = tool.find_subcommand("deploy").expect("it is there");
    let own = |it: &&clap::Arg| it.get_help_heading().is_some_and(|it| it.starts_with(SETTINGS));
    let flags: Vec<clap::Arg> = deploy.get_arguments().filter(own).cloned().collect();
    flags.into_iter().filter(|it| it.get_id() != "clear")
}

/// A value for a flag whose help calls it so.
fn example(value_name: &str) -> String {
    let value = match value_name {
        "KEY=VALUE,…" => "a=b",
        "DURATION" => "1m",
        "TEXT" => "stable",
        _ => "1",
    };
    value.to_owned()
}

#[test]
fn help_teaches_the_commands() {
    assert_snapshot!(help(&[]), @r"
    The operator's part of colony

    Usage: colony [OPTIONS] <COMMAND>

    Commands:
      status      The whole fleet at a glance, and what needs a person
      deploy      Deploy an application, or change where and how it runs
      deployment  Look at deployments, change or delete them [alias: deployments]
      site        Sites and their orchestrators [alias: sites]
      app         The catalog of applications [alias: apps]
      event       What happened, in the order it arrived [alias: events]
      logs        What a deployment's containers printed
      why         Why is it not running yet, who has to act, and what happens next
      quarantine  Versions that a site refuses after they failed
      hold        Stop new attempts of a deployment, or of a whole site
      release     Let go what waits for a person's word
      change      Changes that are accepted and not yet in Git [alias: changes]
      repo        The Git repository that holds the desired state
      token       Who may ask the central orchestrator [alias: tokens]
      context     Which server is asked
      node        Nodes of sites
      help        Print this message or the help of the given subcommand(s)

    Options:
      -h, --help
              Print help (see a summary with '-h')

      -V, --version
              Print version

    Connection:
          --server <URL>
              The central orchestrator, such as https://hub.local:7443

              [env: COLONY_SERVER]

          --token <TOKEN>
              Your token; better in the environment or a context, where `ps` does not show it

              [env: COLONY_TOKEN]

          --ca <FILE>
              The fleet's CA certificate, in PEM

              [env: COLONY_CA]

          --socket <PATH>
              Ask the local orchestrator of this machine's site, also with the WAN down

              [env: COLONY_SOCKET]

          --context <NAME>
              A name from the context file; `colony context list` shows them

              [env: COLONY_CONTEXT]

    Output:
      -o, --output <OUTPUT>
              How to print what was asked for

              Possible values:
              - table
              - wide:  The table with more columns
              - json
              - yaml

              [default: table]
    ");
}

#[test]
fn help_of_deploy_explains_its_options() {
    let DeployHelp { own, .. } = deploy_help();
    assert_snapshot!(own, @r"
    Deploy an application, or change where and how it runs

    A deployment is known by its name: the first `deploy` creates it, the next ones change what they
    mention and leave the rest. The change is one commit in the deployments repository; sites pick it up
    from there.

    Without `--version` the version is the newest release in the catalog, also where an older one runs;
    a pre-release only if there is no release. If `--set`, `--profile`, `--node` or a setting is given,
    each site keeps the version it has; a new site gets the one that the other sites of the command have
    in common, else the newest release.

    Usage: colony deploy [OPTIONS] <APPLICATION>

    Arguments:
      <APPLICATION>
              The application's id; `colony app list` shows them

    Options:
          --version <VERSION>
              A version of the catalog [default: the newest release; with `--set`, `--profile`, `--node`
              or a setting, the version that a site has]

          --name <NAME>
              The deployment's name [default: the application's id]

          --site <SITE,…>
              Sites by comma [default: where it already is, or the only site]

          --node <SITE/NODE>
              Only this node of its site

          --set <KEY=VALUE>
              A parameter of the application, checked against its schema; may be repeated

          --profile <PROFILE>
              A deployment profile [default: the one that fits the most nodes]

      -w, --watch
              Stay and show what happens until it is done

          --timeout <TIME>
              Watch no longer than this; what is not done by then goes on, exit code 5

          --dry-run
              Show the plan and the change in Git; write nothing

      -y, --yes
              Do not ask

      -h, --help
              Print help (see a summary with '-h')
    ");
}

#[test]
fn help_of_deploy_has_examples_and_exit_codes() {
    let DeployHelp { examples, .. } = deploy_help();
    assert_snapshot!(examples, @r"
    Examples:
      colony deploy hello --watch                          the newest release, to the only site
      colony deploy hello --version 1.1 --site home,plant-b --watch
      colony deploy hello --set greeting='Hi there' --dry-run
      colony deploy camera --node plant-b/b2 --name camera-b2
      colony deploy camera --selector line=3 --max-unavailable 25% --on-failure stop
      colony deploy camera --strategy canary --canary 20% --steps 50% --soak 5m --promote manual
      colony deploy camera --clear selector,strategy       back to every node, one at a time

    Exit codes:
      0 installed, or nothing to change    1 failed    2 the plan has changes (--dry-run)
      3 rolled back                        4 done except on nodes that are offline
      5 still going on (--timeout)         6 superseded by a later change
      64 the command line cannot be understood
    ");
}

#[test]
fn help_of_deploy_repeats_the_options_of_all_commands() {
    let DeployHelp { shared, .. } = deploy_help();
    assert!(help(&[]).trim_end().ends_with(shared.trim_end()), "{shared}");
}

/// The parts of the help of `deploy`, in their order.
struct DeployHelp {
    own: String,
    /// The options that all commands have.
    shared: String,
    /// From the examples on.
    examples: String,
}

fn deploy_help() -> DeployHelp {
    let help = without_settings(&help(&["deploy"]));
    let (own, rest) = help.split_at(help.find("Connection:").expect("options of all commands"));
    let (shared, examples) = rest.split_at(rest.find("Examples:").expect("examples"));
    DeployHelp { own: own.to_owned(), shared: shared.to_owned(), examples: examples.to_owned() }
}

fn request(line: &str) -> String {
    let Operator::Deploy(deploy) = operator(line) else { panic!("deploy was typed") };
    colony_core::margo::yaml::emit(&serde_json::to_value(deploy.request()).expect("JSON"))
}

fn help(path: &[&str]) -> String {
    let mut tool = Tool::command().term_width(100);
    tool.build();
    let command = path.iter().fold(&mut tool, |it, name| it.find_subcommand_mut(name).expect("it"));
    let text = command.render_long_help().to_string();
    text.lines().map(|it| format!("{}\n", it.trim_end())).collect()
}

/// `every_setting_has_a_flag` looks at these.
fn without_settings(help: &str) -> String {
    let mut sections = help.split_inclusive("\n\n").peekable();
    let mut kept = String::new();
    while let Some(section) = sections.next() {
        if section.starts_with(SETTINGS) {
            while sections.next_if(|it| it.starts_with(' ')).is_some() {}
        } else {
            kept.push_str(section);
        }
    }
    kept
}

#[track_caller]
fn check(line: &str, expected: &str) {
    let error = parse(line).expect_err("wrong").to_string();
    let first = error.lines().next().unwrap_or_default();
    assert_eq!(first, format!("error: {expected}"));
}
