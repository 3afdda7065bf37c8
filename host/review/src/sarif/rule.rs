//! The rules that findings have, under names that do not change: people silence findings by them.

use super::Level;
use crate::diff::Subject;

macro_rules! rules {
    ($($name:ident $id:literal $level:ident $short:literal $help:literal;)*) => {
        /// A kind of finding.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Rule {
            $(#[doc = $short] $name,)*
        }

        impl Rule {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Its name, kebab case.
            pub fn id(self) -> &'static str {
                match self { $(Self::$name => $id,)* }
            }

            /// What it is in a sentence, and what to do.
            pub(super) fn describe(self) -> (&'static str, &'static str) {
                match self { $(Self::$name => ($short, $help),)* }
            }

            /// The level that findings of it mostly have.
            pub(super) fn level(self) -> Level {
                match self { $(Self::$name => Level::$level,)* }
            }
        }
    };
}

rules! {
    PolicyInvalid "policy-invalid" Error "A policy or profile is not understood."
        "Nothing starts under policies that are not understood whole. Write what the message says.";
    ComponentMissing "component-missing" Error "The component of a tool cannot be read."
        "Put the component where the policy names it, or write where it is.";
    ComponentMismatch "component-mismatch" Error "The component is not the one that the policy pins."
        "Review the new component; then pin its SHA-256 in the policy.";
    ComponentRefused "component-refused" Error "The sandbox does not take the component."
        "Build the component anew, or pin another one.";
    ComponentMisnamed "component-misnamed" Error "The component calls itself something else than its policy does."
        "Name the tool in the policy as the component does, or pin another component.";
    ImportsNotGranted "imports-not-granted" Error "The component imports what its profile does not grant."
        "The policy has imports = \"strict\". Grant the interface in the profile, or pin a component that does without.";
    ArgumentsUnfit "arguments-unfit" Error "The classes of arguments do not fit the schema of the tool."
        "Classify each argument that can hold text, and no other.";
    SchemaUnusable "schema-unusable" Error "The schema of the tool cannot be used."
        "Mend the schema in the description that the component gives of itself.";
    ArgumentNamedLikePath "argument-named-like-path" Warning "An argument is named like a path and not judged as one."
        "If it is a path of the workspace, classify it as one, so that mounts are judged for it.";
    ImportRefuses "import-refuses" Warning "An import that is not granted refuses when it is called."
        "Grant it in the profile if the tool needs it; else nothing is to be done.";
    ToolOff "tool-off" Note "A tool is off, because its profile names no hosts."
        "Name hosts in the profile to turn it on.";
    ToolChanged "tool-changed" Error "A tool is new or gone."
        "Review all of its policy: nobody could call it before.";
    ComponentChanged "component-changed" Error "Another component is pinned."
        "Review the component: nobody has seen this one run here.";
    EntryChanged "entry-changed" Error "Another entry of the component is called, or in another way."
        "Review the command line or the function that the policy names.";
    ImportsChanged "imports-changed" Error "What becomes of imports that are not granted has changed."
        "With stubs a component loads that was refused under \"strict\".";
    SafetyChanged "safety-changed" Error "The safety of a tool has changed."
        "A lower one makes approvals ask less.";
    MountChanged "mount-changed" Error "A mount is granted or taken away, or its access has changed."
        "Review which files the tool reaches.";
    InterfaceChanged "interface-changed" Error "An interface is granted or taken away."
        "Review what the tool can ask of the gateway.";
    NetworkChanged "network-changed" Error "A network, its methods, bytes or secrets have changed."
        "Review what the tool can send, and what it gets.";
    HostChanged "host-changed" Error "A host of the network is granted or taken away."
        "Review to whom the tool can send what it reads.";
    ScratchChanged "scratch-changed" Error "The scratch folder has changed."
        "Review how much the tool may keep while it runs.";
    ArgumentChanged "argument-changed" Error "The class of an argument, or what is filled into it, has changed."
        "Review which texts are let in now, and what the audit shows of them.";
    ApprovalChanged "approval-changed" Error "A rule that asks a person has changed."
        "Review which calls run now without anybody being asked.";
    LimitChanged "limit-changed" Error "A limit has changed."
        "Review whether the tool needs that much.";
    WordsChanged "words-changed" Note "A why, or the name of a profile, has changed."
        "Nothing of what is allowed has changed by that.";
}

impl Rule {
    /// The rule for a difference between two policies.
    pub fn for_difference(subject: &Subject) -> Self {
        match subject {
            Subject::Tool => Self::ToolChanged,
            Subject::Component => Self::ComponentChanged,
            Subject::Entry => Self::EntryChanged,
            Subject::Imports => Self::ImportsChanged,
            Subject::Safety => Self::SafetyChanged,
            Subject::Mount(_) => Self::MountChanged,
            Subject::Interface(_) => Self::InterfaceChanged,
            Subject::NetworkHost(_) => Self::HostChanged,
            Subject::Network
            | Subject::NetworkMethod(_)
            | Subject::NetworkBytes
            | Subject::NetworkHeader(_) => Self::NetworkChanged,
            Subject::Scratch => Self::ScratchChanged,
            Subject::Argument(_) | Subject::Completion(_) => Self::ArgumentChanged,
            Subject::Approval(_) => Self::ApprovalChanged,
            Subject::Limit(_) => Self::LimitChanged,
            Subject::Profile | Subject::Why | Subject::WhyOfProfile => Self::WordsChanged,
        }
    }
}
