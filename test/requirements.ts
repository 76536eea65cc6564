// What Troupe promises, each with the tests that show it. `requirements.test.ts` fails where one of them is not there.
import { agentic } from "./agentic/requirements.ts";
import { apptheory } from "./apptheory/requirements.ts";
import { packet } from "./packet/requirements.ts";
import { cluster } from "./restate/requirements.ts";
import { theater } from "./theater/requirements.ts";

export interface Requirement {
  readonly id: string;
  readonly says: string;
  /** Names as `test-names.ts` reads them: the blocks a test is in, then its own; `${…}` stays as it is written. */
  readonly tests: readonly string[];
}

const product: readonly Requirement[] = [
  // The repository
  {
    id: "repository.package",
    says: "One package, troupe: ESM, subpath exports, Apache-2.0",
    tests: [
      "the package is ESM under Apache-2.0, with the command and an export for each public subpath",
      "the public names are the pinned ones, types included",
    ],
  },
  {
    id: "repository.start",
    says: "npm ci && npm start is all a newcomer types to play",
    tests: [
      "README's HTTP configuration reaches what `npm start` serves",
      "Node comes with npm ci, an exact 24 whatever the machine has, and npm's scripts run on it",
    ],
  },
  {
    id: "repository.node",
    says: "Node 24 comes as an exact dev dependency, also where the machine's own is older",
    tests: ["Node comes with npm ci, an exact 24 whatever the machine has, and npm's scripts run on it"],
  },
  {
    id: "repository.install",
    says: "npm ci works from the lock file on every platform",
    tests: ["the lock file holds the packages of every platform, or `npm ci` refuses it on all of them"],
  },
  {
    id: "repository.check",
    says: "npm run check is format, type-aware lint, types, dead code and tests",
    tests: ["npm run check is format, type-aware lint, types, dead code and tests"],
  },
  {
    id: "repository.ci",
    says: "CI calls what README says, and nothing else",
    tests: ["CI calls what README says, and nothing else"],
  },
  {
    id: "repository.readme",
    says: "README says what this is, has the short example and the two commands, and names only what exists",
    tests: [
      "README names only documents and scripts that exist",
      "AGENTS.md has 30 lines at most, ARCHITECTURE.md two pages, README's example 20 lines",
      "the package › an empty TypeScript project compiles and serves the README's example",
    ],
  },
  {
    id: "repository.configurations",
    says: "README's client configurations are executed by a test",
    tests: [
      "README's stdio configuration starts a server that a client plays",
      "README's HTTP configuration reaches what `npm start` serves",
    ],
  },
  {
    id: "repository.pages",
    says: "ARCHITECTURE.md has at most two pages, AGENTS.md has at most 30 lines",
    tests: ["AGENTS.md has 30 lines at most, ARCHITECTURE.md two pages, README's example 20 lines"],
  },
  {
    id: "repository.imports",
    says: "Folders import what the table allows, through index.ts only; the page carries the same tables",
    tests: [
      "every import follows the import table, and enters a folder through its index.ts",
      "ARCHITECTURE.md carries both tables",
      "no file is called types, utils, helpers or common, nor anything Manager or Impl",
    ],
  },
  {
    id: "repository.public-api",
    says: "Public names are pinned",
    tests: ["the public names are the pinned ones, types included"],
  },
  {
    id: "repository.requirements",
    says: "Every promise is mapped to named tests, and a missing one fails",
    tests: ["every promise names tests that exist"],
  },
  {
    id: "repository.no-compiler",
    says: "No dependency compiles at install",
    tests: ["nothing compiles at install, and what npm ci brings stays under 400 MB"],
  },
  {
    id: "repository.size",
    says: "npm ci stays under 400 MB",
    tests: ["nothing compiles at install, and what npm ci brings stays under 400 MB"],
  },
  {
    id: "repository.apart",
    says: "What only some tests or benches need has a package.json of its own, installed by what needs it",
    tests: [
      "what only some tests and benches need has a package.json of its own, and npm ci does not bring it",
      "the official conformance suite › passes every scenario of ${requirements}",
    ],
  },
  {
    id: "repository.old-node",
    says: "A Node that is too old gets one clear sentence",
    tests: ["a Node that is too old is told so in one sentence, and what to do"],
  },
  {
    id: "repository.tarball-typescript",
    says: "The packed tarball, installed in an empty TypeScript project, compiles and serves README's example by npx",
    tests: ["the package › an empty TypeScript project compiles and serves the README's example"],
  },
  {
    id: "repository.tarball-javascript",
    says: "The packed tarball, installed in an empty JavaScript project, serves an actor by npx",
    tests: ["the package › an empty JavaScript project serves an actor"],
  },
  // Actors
  {
    id: "actors.inference",
    says: "actor() infers state, arguments with defaults, replies and messages",
    tests: ["types: state, arguments with their defaults, replies and messages are inferred"],
  },
  {
    id: "actors.must-not-compile",
    says: "An async run, a wrong argument, an unknown message and a reply against its output do not compile",
    tests: ["types: state, arguments with their defaults, replies and messages are inferred"],
  },
  {
    id: "actors.rollback",
    says: "A draft that is dropped leaves the state exactly as it was",
    tests: [
      "C3 random edits do the same to a draft as to a plain object, the base unchanged",
      "C3 a run that throws, refuses or asks leaves the state and no effects",
    ],
  },
  {
    id: "actors.draft",
    says: "A draft ends in what the same edits make of a plain object, and late writes reach nothing",
    tests: [
      "C3 random edits do the same to a draft as to a plain object, the base unchanged",
      "a write after the turn does not reach the committed state",
    ],
  },
  {
    id: "actors.freeze",
    says: "Committed state is frozen to the bottom",
    tests: [
      "committed states are frozen, also one that was read from disk",
      "${name}: one actor › law 2: what is read is frozen, and stays as it was read",
    ],
  },
  {
    id: "actors.refuse",
    says: "refuse() ends a turn with a sentence, a code and data, and leaves no trace",
    tests: [
      "a refusal has its code and data, also from a view or another copy of the package",
      "${name}: one actor › C3 a refusal, a throw and `needs` leave no trace",
    ],
  },
  {
    id: "actors.when",
    says: "`when` decides with a reason, without one, and again in the turn",
    tests: [
      "law 3: a call of an offer that is off for a reason is refused NOT_NOW with it",
      "law 3: a call of a hidden offer gets the same reply as one that does not exist",
      "law 3: an unavailable action or invalid arguments are refused before work starts",
    ],
  },
  {
    id: "actors.choices",
    says: "`choices` are the values an argument may have now, shown as an enum and checked in the turn",
    tests: [
      "law 3: an argument that is not among its choices is refused; they are listed",
      "law 3: choices apply to variables of resources and arguments of prompts too",
      "lists by posture › the dynamic list is the catalogue without what is off, with choices as enums over a copy",
    ],
  },
  {
    id: "actors.messages",
    says: "Messages of other actors are typed and checked, and on no surface",
    tests: [
      "a message may have any name, also that of a property of its address",
      "types: state, arguments with their defaults, replies and messages are inferred",
      "arguments that do not fit are refused INVALID, with paths and what was expected",
    ],
  },
  {
    id: "actors.wakes.durable",
    says: "Wakes are durable: missed ones come once, at once",
    tests: ["${name}: time › wakes missed while no engine ran come once, at once"],
  },
  {
    id: "actors.wakes.named",
    says: "Wakes are named and come at their time, once",
    tests: [
      "${name}: time › a wake comes at its time, once; a cancelled one never",
      "a wake needs an action of its kind, a time and a name; a send needs an id",
    ],
  },
  {
    id: "actors.wakes.cancel",
    says: "Wakes can be cancelled",
    tests: ["${name}: time › a wake comes at its time, once; a cancelled one never"],
  },
  {
    id: "actors.wakes.repeat",
    says: "Wakes can repeat",
    tests: [
      "${name}: time › a repeating wake comes again and again until it is cancelled",
      '${name}: time › wakes go on when the clock is set back${restarted ? ", after a restart too" : ""}',
    ],
  },
  {
    id: "actors.reply-as",
    says: "A send with replyAs gets its answer as a message, a refusal too, once",
    tests: [
      "${name}: actors that talk to each other › with `replyAs` the reply arrives as a message, a refusal too, and only once",
      "replies requested with `replyAs`, and a child's end, arrive typed",
    ],
  },
  {
    id: "actors.later",
    says: 'A reply "later" holds the caller, not the mailbox, and survives the process',
    tests: [
      "${name}: callers › `later` holds the caller, not the mailbox; a later turn answers",
      "${name}: callers › `later` survives the process: a keyed caller who comes back is answered, once",
      "`return later()` defers the reply; any later turn may answer",
    ],
  },
  {
    id: "actors.children",
    says: "A child knows its parent, its end is a message; a parent that stops takes its children with it, once its stop is kept",
    tests: [
      "C2 a parent whose stop could not be committed retains its children",
      "children of a stopped parent stop, even if the process dies before they do",
      "a new life of a parent starts without the children of the last one, and retains its own",
      "a child whose parent has stopped meanwhile is not started, and the send is a dead letter (${persistence})",
      "${name}: actors that talk to each other › a child knows its parent, and its end is a message to it",
      "${name}: actors that talk to each other › stopping a parent stops its children first, and theirs before them",
    ],
  },
  {
    id: "actors.work.progress",
    says: "Work reports progress and log lines to its caller",
    tests: [
      "${name}: one actor › work reports progress and log to its caller, and its receipt names the event",
      "work writes to its draft across awaits, and ends in a turn",
    ],
  },
  {
    id: "actors.work.abort",
    says: "Work is aborted when its caller leaves, its actor stops or its time is over",
    tests: [
      "${name}: callers › a caller may leave: what waits is withdrawn, work is aborted, what was committed stays",
      "${name}: actors that talk to each other › stopping aborts running work, whose caller learns that it was not applied",
      "${name}: callers › a deadline ends waiting and work",
    ],
  },
  {
    id: "actors.work.fence",
    says: "A turn past its time is dropped, whatever it returns later",
    tests: [
      "${name}: callers › work past its time is fenced off: its caller is told, its mailbox goes on, what it returns is dropped",
      "after work, neither its context nor its draft can write",
    ],
  },
  {
    id: "actors.policy",
    says: "A policy has defaults, and one given at the start wins and stays",
    tests: [
      "policy, `per` and version have defaults and are checked",
      "${name}: memory actors › a policy given at the start wins over the kind's, and stays",
    ],
  },
  {
    id: "actors.owner",
    says: "An actor of its starter does not exist for others",
    tests: [
      "${name}: callers › an actor of its starter does not exist for others",
      "cast: roots › owner starter: another viewer's actor does not exist",
    ],
  },
  {
    id: "actors.idle",
    says: "An idle actor leaves memory, its state stays",
    tests: [
      "an idle cell is dropped and loaded again; one with running work is not dropped",
      "${name}: time › an idle actor's state stays when its cell is dropped",
    ],
  },
  {
    id: "actors.expiry",
    says: "An actor nobody writes to ends after its time",
    tests: ["${name}: time › an actor nobody writes to ends after its time", "an expiry moves with every message"],
  },
  {
    id: "actors.mailbox",
    says: "A mailbox is bounded, and the call past it refused clearly",
    tests: ["${name}: callers › a mailbox is bounded"],
  },
  {
    id: "actors.state-bound",
    says: "State is bounded, and what is no JSON is refused by its path",
    tests: [
      "${name}: one actor › state that is not JSON is refused by its path, and state past its bound",
      "a cycle, a value too deep and one that explodes as text are refused quickly",
    ],
  },
  {
    id: "actors.migrate",
    says: "A state of an older version is migrated, one of a newer refused",
    tests: [
      "${name}: one actor › a state of an older version is migrated in memory, one of a newer is refused",
      "an old state is migrated, checked against the schema and frozen",
      "${name}: failure › an actor whose migration throws has failed, can be read, stopped and, with better code, restarted",
    ],
  },
  {
    id: "actors.crash-bound",
    says: "Crashes can be bounded in a window, until a restart",
    tests: [
      "${name}: failure › a bound on crashes fails the actor until it is restarted",
      "an actor fails exactly when more than `max` of its crashes lie within the window",
    ],
  },
  {
    id: "actors.call-id",
    says: 'Clients name a call with _meta["troupe/callId"]; a retry gets the first reply',
    tests: [
      "the counter on disk › C4 a call that names itself and is sent again gets its first reply, in each client and era, and is counted once",
      "a call's name › C4 is its principal's own: another's call of the same name is another call",
    ],
  },
  {
    id: "actors.idempotency-key",
    says: "Clients name a call with the header Idempotency-Key as well",
    tests: ["the counter on disk › C4 the header Idempotency-Key names a call as well, in both eras"],
  },
  {
    id: "actors.receipts",
    says: "Results carry a receipt {actor, seq, head} by option, and the chain bears it out",
    tests: [
      "the counter on disk › results carry a receipt where the server is told so, and the chain bears it out",
      "the counter on disk › results carry no receipt unless the server is told so",
    ],
  },
  // Engine and stores
  {
    id: "engine.c1",
    says: "C1 One message at a time per actor, work included; actors run concurrently, views never queue",
    tests: [
      "${name}: one actor › C1 calls of one actor run one after the other, work included",
      "${name}: callers › C1 actors run concurrently: one at work holds up nobody else",
    ],
  },
  {
    id: "engine.c2",
    says: "C2 Commit, then announce, then reply; turns ahead of the disk stay unseen and are dropped together",
    tests: [
      "${name}: one actor › C2 when a reply is told its turn is read, and watchers have been told before",
      "C2 a busy actor hands over the next turn before the last is durable, invisible until committed",
      "C2 a failed commit drops all turns after it, their callers get errors, and the actor is what the disk says",
      "C2 work waits for uncommitted turns, and does not start on ones that are dropped",
      "C2 a commit is not seen before it settles",
    ],
  },
  {
    id: "engine.c3",
    says: "C3 A throw, a refusal or needs leaves no trace",
    tests: [
      "${name}: one actor › C3 a refusal, a throw and `needs` leave no trace",
      "C3 work that refuses or throws leaves no state, but its record",
    ],
  },
  {
    id: "engine.c4",
    says: "C4 A keyed call that was applied gets its first reply again, by principal and actor, until it expires",
    tests: [
      "${name}: one actor › C4 a keyed call gets its first reply again, by key and principal; without a key it is applied again",
      "${name}: one actor › C4 a keyed call that was not applied is tried again",
      "${name}: callers › C4 keys expire",
      "C4 the first reply to a key is remembered, by actor and key",
      "${name}: callers › C4 a key that was used for another call is refused, while the first runs, is due and is remembered",
      'C4 work that a repeated keyed call runs again makes the same calls and gets the same replies${restarted ? ", after a restart too" : ""}',
    ],
  },
  {
    id: "engine.c5",
    says: "C5 What a turn sends leaves with its commit, in order, applied once",
    tests: [
      "${name}: actors that talk to each other › C5 what a turn sends arrives once, first in first out per pair",
      "${name}: actors that talk to each other › C5 a refused turn sends nothing",
      "${name}: actors that talk to each other › C5 what was sent and not delivered is delivered after a restart, once",
      "C5 a message is applied once: a turn that consumes it again is refused",
      "C5 an answer goes into the outbox as its message goes out of it, and never again",
      "C5 the reply to a send that had no effect (${action}) is applied once, even if the process dies ${place}",
      "C5 `send` returns the id that its reply names, in first turns, in later ones and in work (${persistence})",
    ],
  },
  {
    id: "engine.c6",
    says: "C6 Append is compare-and-swap on the head: a second writer loses",
    tests: [
      "C6 append is compare-and-swap on the head: a second writer loses",
      "C6 of two engines on one store the second writer loses, gets an error, and goes on from what is stored",
      "C6 a writer that bypasses the lock loses too",
    ],
  },
  {
    id: "engine.dead-letters",
    says: "Three failures make a dead letter, which is seen, replayed and dropped",
    tests: [
      "C5 ${where}: three failures make a dead letter, which can be listed, replayed and dropped",
      "C5 failures are counted across restarts",
    ],
  },
  {
    id: "engine.dead-letters.cli",
    says: "The command line lists, replays and drops dead letters",
    tests: ["dead letters are listed with why, replayed to their actor, and dropped"],
  },
  {
    id: "engine.passivation",
    says: "Cells leave memory when idle and are woken again",
    tests: ["an idle cell is dropped and loaded again; one with running work is not dropped"],
  },
  {
    id: "engine.start-up",
    says: "Start-up costs the same with few actors and many",
    tests: ["start-up makes the same store requests with ten actors and a thousand", "every query of actors uses an index"],
  },
  {
    id: "store.schema",
    says: "The SQLite store has a schema version of its own and migrates older files",
    tests: [
      "migration runs each missing script once, and a failing one changes nothing",
      "newer stores, foreign databases and other files are refused with a reason",
    ],
  },
  {
    id: "store.lock",
    says: "A second process is told who holds the directory and what to do",
    tests: [
      "a second server is refused with the holder's process id, and readers may open",
      "troupe serve › a second server on the same directory is told who has it, and ends with 6",
      "the lock of a killed server is taken over",
      "one directory › has one server: the second is told who has it, and ends with 6; the first goes on",
    ],
  },
  {
    id: "store.socket",
    says: "Commands that write reach the running server through the socket in its directory",
    tests: ["looking and acting from the command line › actors, state and call work beside a running server and without one"],
  },
  {
    id: "store.full",
    says: "A full disk fails the group, keeps nothing of it, and the store goes on",
    tests: ["a full disk fails the whole batch, and the store works again when space returns"],
  },
  {
    id: "store.read-only",
    says: "A read-only directory can be read, not served",
    tests: ["a read-only directory can be read but not served"],
  },
  {
    id: "store.fsync",
    says: "A failing fsync fails the group; nothing is acknowledged that is not there",
    tests: [
      "a failing fsync fails the batch, and a later commit overwrites its log frames",
      "a write the system refuses is STORE_IO, and nothing acknowledged is lost",
    ],
  },
  {
    id: "store.corrupt",
    says: "A corrupt file is found, never read as something else, and stops nobody whose rows are whole",
    tests: [
      "a flipped bit anywhere in the file is an error or changes nothing that is read",
      "a damaged row is skipped, reported once and found by the file's check; other timers and deliveries go on",
    ],
  },
  {
    id: "store.crashes",
    says: "Killed at any moment, nothing acknowledged is lost or half there",
    tests: [
      "C2 C5 C6 a store killed at any moment has each acknowledged turn and message once",
      "C2 C5 ${KILLS} times kill -9 under eight callers: acknowledged turns are stored once, none is stored in part",
      "C2 C4 C5 over ${SEEDS} seeds of faults and crashes at every await: acknowledged turns are stored once, none in part",
      "a server that was started again › has everything it acknowledged, also when it was killed",
      "C2 C4 C5 over ${CRASHES} crashes around every await of a commit, the MUD keeps what it acknowledged and every item in one place",
      "C2 C4 C5 killed ${KILLS.mud} times under ${CLIENTS} clients, the MUD has every acknowledged call once, every item in one place, and verifies",
      "C2 C4 killed ${KILLS.counter} times under ${CLIENTS} clients, the counter is the sum of what was added, each once",
    ],
  },
  {
    id: "store.suites",
    says: "The suites for stores, sessions, streams and engines are exported",
    tests: ["the public names are the pinned ones, types included", "C6 append is compare-and-swap on the head: a second writer loses"],
  },
  // The chain
  {
    id: "chain.verify.bits",
    says: "Verify finds a flipped bit anywhere",
    tests: ["C7 a flipped bit in a header, a body or an id is detected at its event"],
  },
  {
    id: "chain.verify.order",
    says: "Verify finds dropped, doubled, reordered and foreign events",
    tests: ["dropped, repeated, reordered and foreign events are detected"],
  },
  {
    id: "chain.verify.forged",
    says: "Verify finds bodies under other headers, forged events and headers in another form",
    tests: [
      "a body of another header, and a forged event with valid hashes, are detected",
      "a header in another form is refused even if its hash is valid",
    ],
  },
  {
    id: "chain.verify.receipt",
    says: "Given a receipt, verify finds a rolled-back file",
    tests: [
      "with a receipt, a rolled-back file and another history are detected",
      "the chain from the command line › verify finds a file that was rolled back, given a receipt, and a changed byte without one",
    ],
  },
  {
    id: "chain.state-at",
    says: "The state at any event is told",
    tests: [
      "states at two events, and their differences",
      "the chain from the command line › replay tells the state at any event, and runs pure turns again",
    ],
  },
  {
    id: "chain.diff",
    says: "The difference of two events is told",
    tests: ["the chain from the command line › diff says where two states differ", "states at two events, and their differences"],
  },
  {
    id: "chain.reexecute",
    says: "Pure turns are run again and compared with what was recorded",
    tests: [
      "law 4: re-executed turns leave the same events; work is taken from the record",
      "another program is detected in each turn, from the recorded state",
      "law 4: a behaviour's own stop, fork and checkpoint are re-executed; the engine's are read from the chain",
      "the chain from the command line › replay names the turn that another code would have run otherwise",
    ],
  },
  {
    id: "chain.fork",
    says: "A fork is a chain of its own, muted",
    tests: [
      "a fork is a chain of its own that names its origin and starts with its state",
      "a fork is muted: its sends are recorded but not delivered, and its state is separate from its origin's",
      "a fork is muted in all its lives (its cell ${persistence} in between), unless it was forked unmuted",
      "the chain from the command line › fork begins a muted copy at any event, and its cause is found",
    ],
  },
  {
    id: "chain.causes",
    says: "Causes are followed across actors",
    tests: [
      "causes are followed across actors, up to the root and down as a tree, with limits",
      "${name}: actors that talk to each other › an event names its cause, across actors",
      "${name}: time › an event that a wake caused names the event that set it, however often it comes",
      "the chain from the command line › fork begins a muted copy at any event, and its cause is found",
    ],
  },
  {
    id: "chain.checkpoint",
    says: "A checkpoint holds the whole state and the head, signed with Ed25519 where a key is set",
    tests: [
      "a checkpoint has the whole state and the head; bodies before it may be erased",
      "a signed checkpoint proves head and state to anyone with the public key",
      "a checkpoint goes between two turns, and the next turn follows it",
    ],
  },
  {
    id: "chain.erase",
    says: "Bodies before a checkpoint may be erased, and the chain still verifies",
    tests: [
      "the chain from the command line › checkpoint writes a signed whole state before which bodies are erased, and the chain still verifies",
      "C7 erasing takes bodies only, and none from the last whole state on",
      "erased bodies are no longer in the files",
    ],
  },
  {
    id: "chain.redact",
    says: "Arguments and records marked secret are never written",
    tests: [
      "secret arguments are redacted in the record too",
      "${name}: one actor › C7 each event names the one before it, and what is secret was never written",
      "secret arguments are redacted, others are not",
    ],
  },
  {
    id: "chain.export",
    says: "An export is one JSON line per event",
    tests: [
      "an exported line is JSON and imports as the same event",
      "the chain from the command line › chain prints every event, and exports lines that sha256sum verifies",
    ],
  },
  {
    id: "chain.shell",
    says: "sha256sum and the page of the chain are enough to verify an export",
    tests: ["the documented shell recipe verifies an export, and detects changes", "the documented example of a patch is correct"],
  },
  {
    id: "chain.only-storage",
    says: "C7 The chain is the only storage: the state is the last whole one and the patches since",
    tests: [
      "C7 an event's id is the SHA-256 of its header, which names the SHA-256 of its body",
      "the state is replayed from the last whole state",
      "law 1: a state is written by its actor's own turns alone: views, readers and other actors cannot, and the chain tells every change",
    ],
  },
  // Sources
  {
    id: "sources.cast",
    says: "A cast serves the actors a viewer meets: shared, by principal, by handle, by link",
    tests: [
      "cast: roots › serves a shared actor without handle or prefix before it exists",
      "cast: roots › keys a user's actor by its principal, percent-encoded, or hashed if too long",
      "cast: links › joins the surface of the linked actor, with its choices, as one constant catalogue",
    ],
  },
  {
    id: "sources.registry",
    says: "A registry serves handlers, with schemas, refusals, progress, completion and change at run time",
    tests: [
      "registry › checks arguments, with a schema's defaults, and shows a JSON Schema unchanged",
      "registry › a thrown refusal refuses, a request needs answers, and any other throw is a fault without its message",
      "registry › adds and removes at run time, and notifies watchers",
      "registry › reads resources by template, gets prompts, completes both",
    ],
  },
  {
    id: "sources.merge",
    says: "Sources merge, and two of one name are refused naming both",
    tests: [
      "merge and prefix › serve several sources as one, and route each name to its source",
      "merge and prefix › refuse two offers of one name, or of one URI, naming both sources",
    ],
  },
  {
    id: "sources.prefix",
    says: "Names and URIs go under a prefix and come back",
    tests: ["merge and prefix › put names and URIs under a prefix, and remove it for the source"],
  },
  {
    id: "sources.links",
    says: "Links join other actors' surfaces, and cycles end",
    tests: [
      "cast: links › acts on the linked actor as it is linked now, with the player as self",
      "cast: links › joins links under a prefix, also with strict names, and cuts cycles of kinds",
      "cast: kinds whose catalogues are not known ahead › are shown by their state, are not treated as static, and are not followed in cycles",
    ],
  },
  {
    id: "sources.posture.dynamic",
    says: "Dynamic: the list is the surface",
    tests: [
      "lists by posture › the dynamic list is the catalogue without what is off, with choices as enums over a copy",
      "a door of one's own › has a list that changes with it, told before the reply on one stream: SDK ${which.sdk}",
    ],
  },
  {
    id: "sources.posture.gated",
    says: "Gated: all that is not hidden, a call out of turn refused with the reason",
    tests: [
      "lists by posture › the gated list has all that is not hidden, and is one object for all viewers",
      "results of 2026-07-28 › list what is off with a reason, and dynamic lists only with a principal",
      "a door of one's own › is behind a handle for a client of 2026-07-28 without a name, whose list never changes and whose refusals say why",
    ],
  },
  {
    id: "sources.posture.meta",
    says: "Meta: two tools that never change",
    tests: [
      "meta › has two tools that never change, which list what is possible and why others are not",
      "meta › acts, checks arguments, and refuses unknown actions in words for a model",
      "a door of one's own › tells at /mcp/meta what is possible now, and why the rest is not",
    ],
  },
  {
    id: "sources.choices",
    says: "Choices fill enums over a copy of the schema, never an empty one, and complete",
    tests: [
      "lists by posture › omits an empty choice from the schema: several clients refuse an empty enum",
      "cast: links › completes from the choices of the actor that is linked now",
    ],
  },
  {
    id: "sources.handles.minting",
    says: "A handle is minted by a tool and stands in tools, prompts and URIs",
    tests: [
      "cast: handles › every tool and prompt takes a handle, which is the first segment of every URI",
      "cast: handles › handles address separate players, also through links",
    ],
  },
  {
    id: "sources.handles.binding",
    says: "A handle is bound to its starter's principal",
    tests: [
      "cast: handles › a handle is bound to its starter's principal, before and after its first use",
      "a handle › is of no use to anybody but its starter's principal, used or not, and answers like one that never was",
    ],
  },
  {
    id: "sources.handles.expiry",
    says: "Unknown, ended and expired handles are a tool error that says how to start anew",
    tests: [
      "cast: handles › refuses unknown, malformed, ended and expired handles, each as a tool error",
      "a server that was started again › knows the handles it gave, also those nobody has used yet",
    ],
  },
  {
    id: "sources.flags",
    says: "Dirty flags reach exactly those whose lists or resources changed",
    tests: [
      "C8 exactness, ${how} › C8 after any act, lists are notified of iff they changed, and resources iff content or actor did",
      "C8 a viewer is notified only of what its own surface may show, ${how} › C8 the notification precedes the reply, however late the engine announces",
      "C8 1,000 random acts by five players: a list is flagged once to exactly those whose lists changed, and every item stays in one place",
    ],
  },
  // Gateway and doors
  {
    id: "gateway.legacy",
    says: "2024-11-05, 2025-03-26, 2025-06-18 and 2025-11-25 are negotiated and each gets its own shapes",
    tests: [
      "a legacy session over HTTP › gets an id of 128 bits, answers in JSON and negotiates its revision",
      "a definition › has the members of each revision, and none that MCP does not have",
    ],
  },
  {
    id: "gateway.modern",
    says: "2026-07-28 is served on the same endpoint",
    tests: [
      "the envelope of 2026-07-28 › must name a served version (-32022), and match the headers (-32020)",
      "results of 2026-07-28 › have a type and the server's name, and cache hints for exactly six methods",
      "official clients over HTTP › v2 plays in both eras",
    ],
  },
  {
    id: "gateway.stdio",
    says: "Both eras are served on stdio",
    tests: [
      "official clients over stdio › v2 plays in both eras",
      "a connection › initialize makes it one legacy session; before it only ping is answered",
      "a connection › an enveloped request makes it modern; server/discover alone does not decide",
    ],
  },
  {
    id: "gateway.http.post",
    says: "Streamable HTTP answers POST as JSON, or as an event stream when something comes first",
    tests: ["HTTP › answers a POST with the gateway's answer", "a legacy reply › becomes an event stream only if something precedes it"],
  },
  {
    id: "gateway.http.get",
    says: "GET opens the one standalone stream",
    tests: ["the standalone stream › is the only one, is primed, and carries nothing but changes"],
  },
  {
    id: "gateway.http.delete",
    says: "DELETE ends a session",
    tests: [
      "a legacy session over HTTP › answers 400 without an id or with an unknown version, and 404 if unknown or ended",
      "official clients over HTTP › v1 plays, gets notifications, and ends its session",
    ],
  },
  {
    id: "gateway.http.event-ids",
    says: "Events carry ids, and Last-Event-ID gets the rest",
    tests: [
      "a legacy reply › survives a broken connection, and is resumed by Last-Event-ID",
      "event streams › contain ids, retry, the priming event and data",
      "what followed an event on its stream is given again, in order, and nothing of other streams",
      "a client whose stream broke is told what changed meanwhile when it comes back",
    ],
  },
  {
    id: "gateway.tcp",
    says: "TCP carries newline-delimited JSON",
    tests: [
      "TCP › sends one message per line, without a principal",
      "official clients over TCP › v1 and v2 play in both eras, with a token if required",
    ],
  },
  {
    id: "gateway.unix",
    says: "Unix sockets are open to their owner alone",
    tests: [
      "Unix sockets › are accessible only to their owner, who is local without a token",
      "the counter, with no handle and no prefix › counts over a Unix socket",
    ],
  },
  {
    id: "gateway.initialize",
    says: "initialize answers with instructions and capabilities, before anything else",
    tests: [
      "the official client v1 › lists, calls, reads, prompts, completes and logs in its newest revision",
      "a connection › C8 no notification precedes the initialize reply or notifications/initialized",
      "the MUD's initialize › declares the capabilities of the specification",
    ],
  },
  {
    id: "gateway.ping",
    says: "ping is answered",
    tests: [
      "a connection › initialize makes it one legacy session; before it only ping is answered",
      "the official client v1 › lists, calls, reads, prompts, completes and logs in its newest revision",
    ],
  },
  {
    id: "gateway.discover",
    says: "server/discover is answered",
    tests: [
      "the official client v2 › discovers 2026-07-28 and works in it",
      "results of 2026-07-28 › have a type and the server's name, and cache hints for exactly six methods",
    ],
  },
  {
    id: "gateway.tools",
    says: "Tools are listed and called",
    tests: [
      "the official client v1 › lists, calls, reads, prompts, completes and logs in its newest revision",
      "a domain value › becomes a tool's result: text, and structured content if the revision has it",
    ],
  },
  {
    id: "gateway.resources",
    says: "Resources are listed and read, templates too",
    tests: [
      "the official client v1 › lists, calls, reads, prompts, completes and logs in its newest revision",
      "a domain value › becomes a resource's content: text, bytes or JSON",
    ],
  },
  {
    id: "gateway.resources.subscribe",
    says: "Subscribed resources are told of when they change, and others not",
    tests: [
      "the official client v1 › C8 is notified once of a list before the reply to the call that changed it",
      "two clients in one room, and one elsewhere › one takes the torch: the other's room resource updates and its tools list changes; the one elsewhere hears nothing",
    ],
  },
  {
    id: "gateway.prompts",
    says: "Prompts are listed and rendered",
    tests: ["a domain value › becomes a prompt's messages", "a number or boolean as a prompt's argument is converted to text"],
  },
  {
    id: "gateway.completion",
    says: "Arguments of prompts and templates are completed",
    tests: [
      "the official client v1 › lists, calls, reads, prompts, completes and logs in its newest revision",
      "registry › reads resources by template, gets prompts, completes both",
    ],
  },
  {
    id: "gateway.logging",
    says: "Log lines reach the client at its level",
    tests: [
      "the official client v1 › receives progress and logs before the reply, and no log below its level",
      "results of 2026-07-28 › follow log messages and progress only if the request asked for them",
    ],
  },
  {
    id: "gateway.progress",
    says: "Progress reaches its token, before the reply",
    tests: ["the official client v1 › receives progress and logs before the reply, and no log below its level"],
  },
  {
    id: "gateway.cancel",
    says: "A cancelled request is not answered, and its work aborted",
    tests: [
      "the official client v1 › cancels a call, which aborts its tool and gets no reply",
      "a legacy reply › of a cancelled request is not sent, but its exchange ends",
      "a connection › a cancelled modern request gets no reply, and an id is used once at a time",
    ],
  },
  {
    id: "gateway.pages",
    says: "Lists are paged by opaque cursors",
    tests: ["pages are cut once, and their opaque cursors are valid for that list only"],
  },
  {
    id: "gateway.listen",
    says: "subscriptions/listen acknowledges, tells what was asked for and ends with a drain",
    tests: [
      "subscriptions/listen over HTTP › acknowledges first, notifies with its id, and ends when the client leaves",
      "subscriptions/listen over HTTP › ends with a result when the server drains",
      "the official client v2 › listens, is notified of what it asked for, and sees a drain end its stream",
    ],
  },
  {
    id: "gateway.cache-hints",
    says: "Results of 2026-07-28 say how long they hold, on exactly the six",
    tests: ["results of 2026-07-28 › have a type and the server's name, and cache hints for exactly six methods"],
  },
  {
    id: "gateway.trace",
    says: "Tracing keys go with the call into the chain",
    tests: [
      "a call of 2026-07-28 › passes its key, trace and capabilities to the source",
      "${name}: one actor › C7 each event names the one before it, and what is secret was never written",
    ],
  },
  {
    id: "gateway.batch",
    says: "Batches only in 2025-03-26",
    tests: [
      "what a POST must be › batches are part of 2025-03-26 only, bounded, and answered as one",
      "a connection › batches are served in 2025-03-26 only",
    ],
  },
  {
    id: "gateway.needs.modern",
    says: "Needs become input_required with a requestState that is authentic, expires and is bound to principal and arguments",
    tests: [
      "asking within a call › repeats the call with all answers so far, and runs once",
      "asking within a call › a foreign, expired or altered requestState is refused: -32602",
      "a client of 2026-07-28 that can be asked › another's question is not to be answered, nor one's own with another argument",
      "a server that was started again › takes the answer to a question it asked before",
    ],
  },
  {
    id: "gateway.needs.elicitation",
    says: "A legacy client is asked by a real elicitation and the call runs again",
    tests: [
      "the official client v1 › answers an elicitation, and the call runs again with its answer",
      "a legacy reply › waits for a question on its own stream, which a POST answers",
    ],
  },
  {
    id: "gateway.needs.sampling",
    says: "A legacy client is asked for a sample by a real request",
    tests: ["a legacy client is asked for sampling and roots, and the call runs again with both"],
  },
  {
    id: "gateway.needs.roots",
    says: "A legacy client is asked for its roots by a real request",
    tests: ["a legacy client is asked for sampling and roots, and the call runs again with both"],
  },
  {
    id: "gateway.needs.nothing-held",
    says: "A client that refuses, answers nonsense or never answers: nothing applied, nothing held",
    tests: [
      "a legacy reply › reports a refused, invalid or missing answer, and nothing is applied",
      "a legacy client that can be asked › that never answers holds nothing: it and others go on, and what it answers too late is not applied",
      "a client of 2026-07-28 that can be asked › that never comes back holds nothing",
    ],
  },
  {
    id: "gateway.leave.modern",
    says: "Modern: closing the response stream cancels up to the commit; what was committed stays",
    tests: [
      "a call of 2026-07-28 › is cancelled when the client closes its stream, up to the commit",
      "${name}: callers › a caller may leave: what waits is withdrawn, work is aborted, what was committed stays",
    ],
  },
  {
    id: "gateway.leave.legacy",
    says: "Legacy: closing the stream does not cancel",
    tests: [
      "a legacy reply › survives a broken connection, and is resumed by Last-Event-ID",
      "a connection › a client that leaves cancels its modern calls, but not its legacy calls",
    ],
  },
  {
    id: "sessions.restart",
    says: "Sessions survive a restart, subscriptions and log level included",
    tests: [
      "a legacy session over HTTP › survives a restart with its subscriptions and log level",
      "a session is got as it was put, also by another process",
      "a server that was started again › knows its legacy sessions, who stood behind them and what they subscribed to",
    ],
  },
  {
    id: "sessions.principal",
    says: "Sessions are bound to their principal on every request",
    tests: [
      "a legacy session over HTTP › is bound to its principal on every request",
      "a session › of somebody else is not found, whatever is asked of it, and goes on for its own client",
      "a session › cannot hear the stream of another by its event ids",
    ],
  },
  {
    id: "sessions.idle",
    says: "Sessions idle out, and an open stream keeps one",
    tests: [
      "a legacy session over HTTP › expires when idle, is touched at most every ttl/10, and an open stream keeps it",
      "sessions last seen before a time expire, and are named once",
    ],
  },
  {
    id: "secure.loopback",
    says: "Nothing opens beyond loopback without authentication",
    tests: [
      "HTTP › refuses to listen beyond loopback without authentication, with advice",
      "troupe serve › refuses to listen beyond loopback without tokens",
    ],
  },
  {
    id: "secure.host",
    says: "Host is checked",
    tests: ["HTTP › refuses unknown hosts, against DNS rebinding"],
  },
  {
    id: "secure.origin",
    says: "Origin is checked",
    tests: [
      "HTTP › refuses foreign origins and accepts loopback ones",
      "official clients over HTTP › a page of a foreign origin cannot use a session",
    ],
  },
  {
    id: "secure.body",
    says: "Bodies are bounded",
    tests: ["HTTP framing › refuses a body that is too large with 413 and closes, with or without Content-Length"],
  },
  {
    id: "secure.headers",
    says: "Headers are bounded, and those that decide something come once",
    tests: [
      "HTTP framing › refuses a head that is too large or has too many headers",
      "HTTP › refuses repeated headers that must be unique",
    ],
  },
  {
    id: "secure.depth",
    says: "Depth, JSON and UTF-8 are checked",
    tests: ["what a POST must be › media types, JSON and UTF-8 are checked, each with its own status"],
  },
  {
    id: "secure.rate",
    says: "Requests are rate limited by principal",
    tests: ["a call of 2026-07-28 › takes a token of its principal's rate limit only"],
  },
  {
    id: "secure.slow",
    says: "Slow and silent clients are timed out",
    tests: [
      "HTTP framing › closes connections whose head or body does not arrive in time",
      "TCP › closes a connection whose line is too long or too slow",
      "event streams › C8 of a client that does not read are limited, and end",
    ],
  },
  {
    id: "secure.ids",
    says: "Session ids have 128 bits",
    tests: ["a legacy session over HTTP › gets an id of 128 bits, answers in JSON and negotiates its revision"],
  },
  {
    id: "secure.handles",
    says: "Handles carry 128 random bits and cannot be made up",
    tests: [
      "a handle has 128 random bits, its minute, and a proof that fails for any flipped bit",
      "cast: handles › refuses unknown, malformed, ended and expired handles, each as a tool error",
    ],
  },
  {
    id: "secure.jwks",
    says: "Bearer tokens are verified against key sets",
    tests: [
      "bearer tokens › of an issuer name the principal by issuer and subject, with their scopes",
      "key sets › are fetched once on first use, and again for an unknown key",
    ],
  },
  {
    id: "secure.static-keys",
    says: "API keys let their holders in, and nobody else",
    tests: [
      "bearer tokens › that are API keys name their owner; without an issuer there is no metadata",
      "troupe serve › API keys let their holders in, and nobody else",
    ],
  },
  {
    id: "secure.metadata",
    says: "Protected-resource metadata is where the challenge says",
    tests: ["protected-resource metadata › is at the address in the challenge, and names the authorization servers"],
  },
  {
    id: "secure.challenges",
    says: "401 and 403 carry exact challenges, of scopes for tools too",
    tests: [
      "bearer tokens › are requested by a challenge with all a client needs to get one",
      "bearer tokens › without a scope are refused with the missing scope",
      "a call of 2026-07-28 › needs the scopes of its offer: 403 and a challenge",
    ],
  },
  {
    id: "secure.tcp-token",
    says: "Over TCP the token is in the first request and goes no further",
    tests: ["TCP tokens › authenticate by the first request, and are not passed on"],
  },
  {
    id: "secure.tcp-token-time",
    says: "The token must come within 5 s",
    tests: ["TCP tokens › must come in time", "the guide to doors tells the limits that hold"],
  },
  {
    id: "secure.tcp-open",
    says: "TCP beyond loopback refuses to start without tokens",
    tests: [
      "TCP › does not listen beyond loopback without authentication",
      "troupe serve › refuses to listen beyond loopback without tokens",
    ],
  },
  {
    id: "secure.text",
    says: "One user's text reaches another's model bounded, without control characters, as data, in no description",
    tests: [
      "another's text is one bounded line without control or format characters, and cannot close its quotation marks",
      "whoever floods a room or a player with words fills nothing: logs and notes are bounded, and everybody still plays",
      "a result opens with what others did since the player's last turn; looking is no turn",
      "names are unique whatever the case, bounded and clean; the tool is there until one is chosen",
      "a player › reads the words of others as data: quoted, bounded, without control characters, never in a description",
    ],
  },
  {
    id: "secure.logs",
    says: "Logs carry codes, ids and sizes, not arguments or state",
    tests: [
      "the log says of a crash what, where and in which code, not with which arguments; in debug it says all",
      "HTTP › answers 500 without details of the failure",
      "bearer tokens › that are invalid are refused with the reason, without the token",
    ],
  },
  {
    id: "secure.stacks",
    says: "No stack and no inner word reaches a client",
    tests: [
      "HTTP › answers 500 without details of the failure",
      "the official client v1 › reads what the arguments should be in a tool's error, and no internals",
      "fuzzed input › on a stream after ${era} is answered or ignored, and the next request is served",
      "in a POST › any JSON value gets an answer or none, never a failure of the server",
    ],
  },
  // The command line
  {
    id: "cli.serve",
    says: "troupe serve takes modules and opens HTTP, TCP and Unix sockets",
    tests: [
      "troupe serve › prints one line with every address once it is ready, and picks free ports for port 0",
      "the counter, with no handle and no prefix › counts over a Unix socket",
    ],
  },
  {
    id: "cli.serve.stdio",
    says: "--stdio serves on standard input and output, where nothing but protocol is written",
    tests: [
      "over stdio nothing but the protocol reaches standard output, whatever a module prints, and the server ends with its input",
      "stdio › writes only the protocol to the standard output, and exits at the end of input",
    ],
  },
  {
    id: "cli.serve.as",
    says: "--as names who is on stdio or a Unix socket",
    tests: ["stdio › accepts another principal", "Unix sockets › are accessible only to their owner, who is local without a token"],
  },
  {
    id: "cli.serve.strict",
    says: "--tool-names strict keeps to letters, digits, _ and -",
    tests: [
      "troupe serve › a strict host gets names of letters, digits and underscores",
      "merge and prefix › use strict names on request, and refuse names that do not fit",
    ],
  },
  {
    id: "cli.modules.typescript",
    says: "A module is a TypeScript file that exports actors",
    tests: ["the package › an empty TypeScript project compiles and serves the README's example"],
  },
  {
    id: "cli.modules.javascript",
    says: "A module is a JavaScript file that exports actors",
    tests: ["the package › an empty JavaScript project serves an actor"],
  },
  {
    id: "cli.modules.folder",
    says: "A module is a folder with an index",
    tests: [
      "the counter, with no handle and no prefix › counts for SDK v1 and v2, both eras, over HTTP and TCP, and is one for all of them",
      "troupe serve › name=module puts two of a kind under prefixes",
    ],
  },
  {
    id: "cli.modules.world",
    says: "A module is a world",
    tests: ["the package › a world is served from the package"],
  },
  {
    id: "cli.port-0",
    says: "Port 0 picks a free one",
    tests: ["troupe serve › prints one line with every address once it is ready, and picks free ports for port 0"],
  },
  {
    id: "cli.ready",
    says: "--json prints one line with every address once ready, and nothing of the modules' own",
    tests: [
      "troupe serve › prints one line with every address once it is ready, and picks free ports for port 0",
      "on SIGTERM a call that runs is answered before the server ends, with 0",
    ],
  },
  {
    id: "cli.dev.reload",
    says: "troupe dev loads changed modules anew and keeps state, sessions and port",
    tests: ["troupe dev loads changed modules anew while state, session and port stay, and names an impure turn"],
  },
  {
    id: "cli.dev.stdio",
    says: "troupe dev keeps standard input and output",
    tests: ["troupe dev keeps the client on standard input and output over a reload"],
  },
  {
    id: "cli.dev.twice",
    says: "troupe dev runs turns twice and names an impure one",
    tests: [
      "troupe dev loads changed modules anew while state, session and port stay, and names an impure turn",
      "law 4: a turn that reads the clock is named with the path that differs",
    ],
  },
  {
    id: "cli.actors",
    says: "troupe actors, state and call work beside a server and without one",
    tests: ["looking and acting from the command line › actors, state and call work beside a running server and without one"],
  },
  {
    id: "cli.chain",
    says: "troupe chain prints and exports, --follow as events come",
    tests: [
      "the chain from the command line › chain prints every event, and exports lines that sha256sum verifies",
      "chain --follow prints events as they come",
    ],
  },
  {
    id: "cli.verify",
    says: "troupe verify finds what was changed or rolled back",
    tests: ["the chain from the command line › verify finds a file that was rolled back, given a receipt, and a changed byte without one"],
  },
  {
    id: "cli.replay",
    says: "troupe replay --to tells the state and runs turns again",
    tests: ["the chain from the command line › replay tells the state at any event, and runs pure turns again"],
  },
  {
    id: "cli.diff",
    says: "troupe diff tells what differs",
    tests: ["the chain from the command line › diff says where two states differ"],
  },
  {
    id: "cli.fork",
    says: "troupe fork begins a muted copy",
    tests: ["the chain from the command line › fork begins a muted copy at any event, and its cause is found"],
  },
  {
    id: "cli.letters",
    says: "troupe letters lists, replays and drops",
    tests: ["dead letters are listed with why, replayed to their actor, and dropped"],
  },
  {
    id: "cli.output",
    says: "People get text, machines get JSON with --json",
    tests: [
      "looking and acting from the command line › actors, state and call work beside a running server and without one",
      "people are told how to connect, on standard error; standard output stays empty",
      "the chain from the command line › chain prints every event, and exports lines that sha256sum verifies",
      "with --json a wrong command line is one JSON line on standard error, like every failure",
    ],
  },
  {
    id: "cli.exit-codes",
    says: "Exit codes are documented and those of the code",
    tests: [
      "the guide to errors has every code of the command line under its exit code, and the guide to the command line the same exits",
      "looking and acting from the command line › what is not there, what is refused and what is misspelled have codes of their own",
      "troupe serve › says what is wrong with the command line, with code 2",
    ],
  },
  {
    id: "cli.sigterm",
    says: "SIGTERM drains: what runs is answered, then the process ends with 0",
    tests: [
      "on SIGTERM a call that runs is answered before the server ends, with 0",
      "troupe serve › ends with 0 on SIGTERM, after running calls",
      "draining lets running work finish, with the calls it makes, and refuses new calls",
      "a server that is told to stop › ends a running call first, refuses new ones, and ends with 0",
    ],
  },
  // The MUD
  {
    id: "mud.look-at",
    says: "look also looks at a thing",
    tests: ["look also looks at one thing: an item here or in hand, a character, a player, and nothing that is not here"],
  },
  {
    id: "mud.tools.items",
    says: "pick_up, drop, give and use move things, which are never lost or doubled",
    tests: [
      "give hands an item over; full hands leave it on the floor; nothing is lost",
      "use consumes what heals, strikes the monster with what strikes, and says why other things are not for using",
      "drop puts a thing down where the next one finds it",
    ],
  },
  {
    id: "mud.tools.inventory",
    says: "inventory tells what is carried",
    tests: [
      "every tool works at once for a newcomer, under a provisional name, and look gives the entrance",
      "players are found again after a restart, where they were and with what they had",
    ],
  },
  {
    id: "mud.tools.flee",
    says: "flee comes with the fight",
    tests: ["battle, battle_prompt and flee come and go with the monster and the fight"],
  },
  {
    id: "mud.tools.accept-quest",
    says: "accept_quest is there where a quest is on offer",
    tests: [
      "quest_prompt appears where a quest is on offer, and follows it: offered, active, completed",
      "the MUD's tools › battle and flee, open_chest and accept_quest, are listed where they can be done",
    ],
  },
  {
    id: "mud.tools.words",
    says: "say, tell, emote and who work among players",
    tests: [
      "a result opens with what others did since the player's last turn; looking is no turn",
      "what is said while a player walks reaches it where it arrives",
    ],
  },
  {
    id: "mud.tools.talk",
    says: "talk tells what a character says",
    tests: ["talk tells what a character says, and knows about what"],
  },
  {
    id: "mud.definitions",
    says: "look and move are the specification's definitions on the wire, with annotations",
    tests: [
      "the MUD's tools › look and move are listed exactly as the specification defines them",
      "look and move are defined word for word as the specification has them",
      "the MUD's tools › every tool has an object schema, a description and annotations",
    ],
  },
  {
    id: "mud.prompts.start",
    says: "The prompt start begins or goes on",
    tests: ["players are found again after a restart, where they were and with what they had"],
  },
  {
    id: "mud.prompts.room",
    says: "room_description reads include_inventory from its text form",
    tests: [
      "the MUD's prompts › room_description tells the room, and the inventory where it is asked to",
      "moving tells the new room; the hallway reads as in the specification's example",
    ],
  },
  {
    id: "mud.prompts.quest",
    says: "quest_prompt tells a quest offered, active and completed: three keys and the guardian",
    tests: [
      "the MUD's prompts › quest_prompt tells the offer, then the progress",
      "quest_prompt of a completed quest says that it is completed",
      "quest_prompt appears where a quest is on offer, and follows it: offered, active, completed",
    ],
  },
  {
    id: "mud.prompts.battle",
    says: "battle_prompt differs by monster and tells healths and what each carried item would do",
    tests: [
      "the MUD's prompts › battle_prompt is there where a monster is, and tells what each carried thing would do",
      "battle_prompt tells of the monster that is here: another one, another text",
    ],
  },
  {
    id: "mud.prompts.help",
    says: "game_help requires and completes its topic, and has a detail_level",
    tests: ["the MUD's prompts › game_help wants a topic it knows, and completes it", "game_help wants a topic, and completes it"],
  },
  {
    id: "mud.resources.state",
    says: "game://player/state has exactly the specified fields",
    tests: [
      "the MUD's resources › the player's state has exactly the specified fields",
      "the player state has exactly the specification's fields, and an alias for the player",
    ],
  },
  {
    id: "mud.resources.map",
    says: "game://world/map shows the discovered part",
    tests: [
      "the map shows what was discovered, the room what is there",
      "the MUD's resources › the state follows what the player does, and the map what it has discovered",
    ],
  },
  {
    id: "mud.resources.room",
    says: "game://room/current tells the room",
    tests: ["the map shows what was discovered, the room what is there"],
  },
  {
    id: "mud.resources.log",
    says: "game://room/log tells what was seen and heard",
    tests: ["game://room/log tells what was seen and heard here of late, another's words in quotation marks"],
  },
  {
    id: "mud.handles",
    says: "Without a principal URIs have a handle segment and tools a handle",
    tests: [
      "a request without a principal plays by a handle, and finishes a step with it",
      "two clients in one room, and one elsewhere › in 2026-07-28 without a name, a handle's room is listened to, and no other's",
      "one of 2026-07-28 without a name finishes the quest by the list it was given first, which never changes",
    ],
  },
  {
    id: "mud.news",
    says: "Each result opens with what happened since the player's last turn",
    tests: ["a result opens with what others did since the player's last turn; looking is no turn"],
  },
  {
    id: "mud.players.many",
    says: "Many players share one world",
    tests: [
      "C8 1,000 random acts by five players: a list is flagged once to exactly those whose lists changed, and every item stays in one place",
      "C8 ${ACTS} random acts by 5 clients: exactly one list_changed for each list that changed, and none else",
      'is finished by SDK v1 and v2, in both eras, over ${doors.join(" and ")}, one after the other in one world',
    ],
  },
  {
    id: "mud.names",
    says: "Names are unique and chosen at first entry",
    tests: ["names are unique whatever the case, bounded and clean; the tool is there until one is chosen"],
  },
  {
    id: "mud.two-clients",
    says: "The same player may play from two clients at once",
    tests: [
      "the same player from two clients is one player; two blows at once are one after the other or refused, never both half",
      "two clients in one room, and one elsewhere › one player from two clients at once: what one does, the other hears of",
    ],
  },
  {
    id: "mud.restart",
    says: "Players are found again after a restart",
    tests: ["players are found again after a restart, where they were and with what they had"],
  },
  {
    id: "mud.death",
    says: "Death loses what was carried, and the player wakes up whole at the start",
    tests: ["who falls wakes up at the entrance, whole and with empty hands, and everything is back where it belongs"],
  },
  {
    id: "mud.respawn",
    says: "Monsters come back and what was used up grows again",
    tests: [
      "the world mends itself: strays go home, monsters come back, what was used up grows again, idle hands are emptied, sleepers are not seen",
    ],
  },
  {
    id: "mud.items",
    says: "Rooms hold the items: each thing is in exactly one place, whatever crashes",
    tests: [
      "C5 whenever the power fails, every item is in exactly one place afterwards, and nobody is stranded or in two rooms",
      "two rooms, two players › C5 each thing exists exactly once over rooms, inventories and outboxes, wherever the process dies between room and player",
      "C2 C4 C5 over ${CRASHES} crashes around every await of a commit, the MUD keeps what it acknowledged and every item in one place",
    ],
  },
  {
    id: "mud.fights",
    says: "Fights are decided in the turn from the message's seed",
    tests: [
      "the same seeds and acts make the same fights",
      "a blow is half to one and a half times the attack, less armor, at least 1, or a miss",
    ],
  },
  {
    id: "mud.list-changed",
    says: "list_changed comes exactly when a player's own list changes, also by another's act",
    tests: [
      "C8 ${ACTS} random acts by 5 clients: exactly one list_changed for each list that changed, and none else",
      "C8 one takes the torch: the other's list and room are flagged, whoever is elsewhere hears nothing",
      "two clients in one room, and one elsewhere › one takes the torch: the other's room resource updates and its tools list changes; the one elsewhere hears nothing",
    ],
  },
  {
    id: "mud.confirm",
    says: "Destructive acts ask by elicitation where the client has it",
    tests: [
      "destructive acts ask where the client can be asked: the first blow, and giving away what is precious",
      "a legacy client that can be asked › is asked by a request of the server, and the fight begins when it says yes",
      "official clients › a person says no, then yes: SDK ${which.sdk}, ${which.era}, over HTTP and TCP",
      "official clients › a person never says anything, and others go on: SDK ${which.sdk}, ${which.era}, over HTTP and TCP",
    ],
  },
  {
    id: "mud.security-guide",
    says: "The security guide has a row per bullet: the mechanism, or the host's job",
    tests: ["the security guide has a row for each bullet: the mechanism, or the host's job"],
  },
  {
    id: "mud.worlds.yaml",
    says: "A world is YAML with a published JSON Schema",
    tests: [
      "the published schema is the one worlds are checked against, and describes every key a world has",
      "the world in the guide can be played, and the guide knows every key and default",
    ],
  },
  {
    id: "mud.worlds.errors",
    says: "What is wrong with a world is told with file, line and column",
    tests: [
      "${what} is told with its file, line and column, and what to write instead",
      "hostile YAML is refused with a sentence: broken, nested aliases, not a mapping, too long, prototypes",
    ],
  },
  {
    id: "mud.worlds.finish",
    says: "A world that cannot be finished is rejected with the reason",
    tests: [
      "a world that cannot be finished is rejected with the reason: ${what}",
      "every random world is finished by a careful player, or rejected with the reason",
    ],
  },
  {
    id: "mud.worlds.first",
    says: "The first world has twelve rooms, three keys, a guardian, three kinds of monster, two chests and an ending",
    tests: [
      "the first world has twelve rooms or more, three keys, a guardian, three kinds of monster, two chests and an ending",
      "${world.title}: a scripted player reaches the ending through the actors' tools, and the next one can too",
    ],
  },
  {
    id: "mud.worlds.second",
    says: "The second world is disjoint and uses every feature",
    tests: ["the second world shares nothing with the first", "the second world uses every feature"],
  },
  {
    id: "mud.worlds.serve",
    says: "troupe serve my-world.yaml works",
    tests: [
      "the package › a world is served from the package",
      "is finished over stdio by the local player: SDK ${which.sdk}, ${which.era}",
    ],
  },
  {
    id: "mud.start",
    says: "npm start serves it over HTTP, on disk, and prints how to connect",
    tests: [
      "README's HTTP configuration reaches what `npm start` serves",
      "people are told how to connect, on standard error; standard output stays empty",
    ],
  },

  // One whole
  {
    id: "whole.one",
    says: "One process and one /mcp: a player of the MUD is moved through every door, every view agrees, and there is one history",
    tests: [
      "a player is moved through every door, every view agrees, everybody concerned is told, and there is one history",
      "killed after moves it had acknowledged, it has them all",
    ],
  },
  {
    id: "whole.command",
    says: "The same module by one command: MCP, packets and Theater before the same actors",
    tests: ["troupe serve takes the module: the player is one behind /mcp, packets and /theater, beside a guest"],
  },
  {
    id: "whole.links",
    says: "An actor acts through its links at every door, and is refused alike",
    tests: [
      "what its links offer is asked for as what it offers itself, and goes to whom they lead now",
      "our engine as a stage › what an actor's links offer is requested of it, and it is its own act",
    ],
  },
];

/** The specification of the MUD, section by section. */
const specification: readonly Requirement[] = [
  // the MUD's specification, §1
  {
    id: "spec.1.player-id",
    says: "player_id names the player, by an alias",
    tests: [
      "the player state has exactly the specification's fields, and an alias for the player",
      "the MUD's resources › the player's state has exactly the specified fields",
    ],
  },
  {
    id: "spec.1.room",
    says: "room is where the player is",
    tests: ["the MUD's resources › the state follows what the player does, and the map what it has discovered"],
  },
  {
    id: "spec.1.inventory",
    says: "inventory is what the player carries",
    tests: [
      "the MUD's resources › the state follows what the player does, and the map what it has discovered",
      "the player state has exactly the specification's fields, and an alias for the player",
    ],
  },
  {
    id: "spec.1.has-quest",
    says: "hasQuest says whether a quest is active",
    tests: [
      "the MUD's prompts › quest_prompt tells the offer, then the progress",
      "the player state has exactly the specification's fields, and an alias for the player",
    ],
  },
  {
    id: "spec.1.monster-present",
    says: "monsterPresent says whether a monster is there",
    tests: [
      "the MUD's resources › the state follows what the player does, and the map what it has discovered",
      "battle, battle_prompt and flee come and go with the monster and the fight",
    ],
  },
  {
    id: "spec.1.independent",
    says: "Each player has a state of its own, kept on the server",
    tests: [
      "cast: roots › keys a user's actor by its principal, percent-encoded, or hashed if too long",
      "one that opens a session for each call finishes the quest, since its key names the player",
    ],
  },
  {
    id: "spec.1.updates",
    says: "State changes by tools, prompts reflect it",
    tests: [
      "moving tells the new room; the hallway reads as in the specification's example",
      "the MUD's prompts › quest_prompt tells the offer, then the progress",
    ],
  },
  // §2
  {
    id: "spec.2.discovery",
    says: "tools/list shows look and move as written",
    tests: ["the MUD's tools › look and move are listed exactly as the specification defines them"],
  },
  {
    id: "spec.2.look",
    says: "look describes the room, without parameters, read-only",
    tests: [
      "the MUD's tools › look answers with one text block that describes the room and its exits",
      "the MUD's tools › look and move are listed exactly as the specification defines them",
    ],
  },
  {
    id: "spec.2.move",
    says: "move takes a direction and updates the room",
    tests: [
      "moving tells the new room; the hallway reads as in the specification's example",
      "the MUD's tools › look and move are listed exactly as the specification defines them",
    ],
  },
  {
    id: "spec.2.move.invalid",
    says: "An invalid move is an error of the tool that says why",
    tests: [
      "the MUD's tools › a step that cannot be is a tool's error that says why",
      "a wall, a locked door and a barred way are told with the specification's words",
    ],
  },
  {
    id: "spec.2.pick-up",
    says: "pick_up takes an item by name, as the schema is written; not read-only, not destructive",
    tests: ["the MUD's tools › pick_up takes the specified argument, whose values are what lies here now"],
  },
  {
    id: "spec.2.pick-up.inventory",
    says: "pick_up adds to the inventory what is in the room, and nothing else",
    tests: [
      "give hands an item over; full hands leave it on the floor; nothing is lost",
      "the same player from two clients is one player; two blows at once are one after the other or refused, never both half",
    ],
  },
  {
    id: "spec.2.battle",
    says: "battle fights where monsterPresent, without parameters",
    tests: ["battle, battle_prompt and flee come and go with the monster and the fight"],
  },
  {
    id: "spec.2.battle.none",
    says: "Without a monster battle returns: No enemies here",
    tests: ["the MUD's tools › battle without a monster is a tool's error: No enemies here"],
  },
  {
    id: "spec.2.battle.destructive",
    says: "battle is marked as potentially destructive",
    tests: ["the MUD's tools › battle and flee, open_chest and accept_quest, are listed where they can be done"],
  },
  {
    id: "spec.2.errors",
    says: "Errors of a tool are results with isError and a text",
    tests: [
      "the MUD's tools › a step that cannot be is a tool's error that says why",
      "the MUD's tools › battle without a monster is a tool's error: No enemies here",
    ],
  },
  {
    id: "spec.2.approval",
    says: "Tools are called by models and approved by users: annotations, confirmation, and the host's job",
    tests: [
      "the MUD's tools › every tool has an object schema, a description and annotations",
      "destructive acts ask where the client can be asked: the first blow, and giving away what is precious",
      "the security guide has a row for each bullet: the mechanism, or the host's job",
    ],
  },
  // §3
  {
    id: "spec.3.discovery",
    says: "prompts/list shows the prompts as written",
    tests: ["the MUD's prompts › are listed as the specification defines them, quest_prompt once there is a quest"],
  },
  {
    id: "spec.3.room-description",
    says: "room_description changes with room and state, optionally with the inventory",
    tests: [
      "the MUD's prompts › room_description tells the room, and the inventory where it is asked to",
      "moving tells the new room; the hallway reads as in the specification's example",
    ],
  },
  {
    id: "spec.3.quest-prompt",
    says: "quest_prompt is there only where there is something of a quest",
    tests: [
      "the MUD's prompts › are listed as the specification defines them, quest_prompt once there is a quest",
      "quest_prompt appears where a quest is on offer, and follows it: offered, active, completed",
    ],
  },
  {
    id: "spec.3.quest-prompt.content",
    says: "quest_prompt follows the quest: available, active, completed",
    tests: [
      "the MUD's prompts › quest_prompt tells the offer, then the progress",
      "quest_prompt of a completed quest says that it is completed",
    ],
  },
  {
    id: "spec.3.battle-prompt",
    says: "battle_prompt is there only while monsterPresent",
    tests: [
      "the MUD's prompts › battle_prompt is there where a monster is, and tells what each carried thing would do",
      "battle, battle_prompt and flee come and go with the monster and the fight",
    ],
  },
  {
    id: "spec.3.battle-prompt.context",
    says: "battle_prompt gives combat guidance and options",
    tests: ["the MUD's prompts › battle_prompt is there where a monster is, and tells what each carried thing would do"],
  },
  {
    id: "spec.3.battle-prompt.content",
    says: "battle_prompt adapts to enemy and player",
    tests: [
      "battle_prompt tells of the monster that is here: another one, another text",
      "the MUD's prompts › battle_prompt is there where a monster is, and tells what each carried thing would do",
    ],
  },
  {
    id: "spec.3.arguments",
    says: "Prompts have described arguments, required or not",
    tests: ["the MUD's prompts › are listed as the specification defines them, quest_prompt once there is a quest"],
  },
  {
    id: "spec.3.validation",
    says: "Prompt arguments are validated",
    tests: [
      "the MUD's prompts › game_help wants a topic it knows, and completes it",
      "a prompt's arguments arrive as text and are parsed as the schema says",
      "a prompt's argument that is not a scalar is refused by its name",
    ],
  },
  // §4
  {
    id: "spec.4.discovery",
    says: "resources/list shows the three resources as written",
    tests: ["the MUD's resources › are listed as the specification defines them"],
  },
  {
    id: "spec.4.player-state",
    says: "game://player/state reads as JSON text with its fields and health",
    tests: ["the MUD's resources › the player's state has exactly the specified fields"],
  },
  {
    id: "spec.4.world-map",
    says: "game://world/map tells rooms and their connections",
    tests: ["the map shows what was discovered, the room what is there"],
  },
  {
    id: "spec.4.room-current",
    says: "game://room/current tells about the room in detail",
    tests: [
      "the map shows what was discovered, the room what is there",
      "the MUD's resources › the state follows what the player does, and the map what it has discovered",
    ],
  },
  {
    id: "spec.4.reading",
    says: "resources/read answers with uri, mimeType and text",
    tests: [
      "a domain value › becomes a resource's content: text, bytes or JSON",
      "the MUD's resources › the player's state has exactly the specified fields",
      "the Inspector over stdio › looks around the MUD",
    ],
  },
  // §5
  {
    id: "spec.5.prompts.room",
    says: "Entering an area updates room_description",
    tests: ["moving tells the new room; the hallway reads as in the specification's example"],
  },
  {
    id: "spec.5.prompts.quest",
    says: "Accepting a quest changes quest_prompt",
    tests: ["the MUD's prompts › quest_prompt tells the offer, then the progress"],
  },
  {
    id: "spec.5.prompts.battle",
    says: "An enemy makes battle_prompt available",
    tests: ["the MUD's prompts › battle_prompt is there where a monster is, and tells what each carried thing would do"],
  },
  {
    id: "spec.5.prompts.notify",
    says: "prompts/list_changed is sent when availability changes",
    tests: [
      "C8 the order on one stream › what a call changed is told before its reply",
      "C8 ${ACTS} random acts by 5 clients: exactly one list_changed for each list that changed, and none else",
    ],
  },
  {
    id: "spec.5.tools.chest",
    says: "open_chest is there only where a chest is",
    tests: ["open_chest comes with a chest and goes when it is open; what was in it lies there"],
  },
  {
    id: "spec.5.tools.battle",
    says: "battle is there only while monsterPresent",
    tests: ["the MUD's tools › battle and flee, open_chest and accept_quest, are listed where they can be done"],
  },
  {
    id: "spec.5.tools.context",
    says: "Tools come and go with the state",
    tests: [
      "the MUD's tools › battle and flee, open_chest and accept_quest, are listed where they can be done",
      "names are unique whatever the case, bounded and clean; the tool is there until one is chosen",
    ],
  },
  {
    id: "spec.5.tools.notify",
    says: "tools/list_changed is sent when the toolset changes",
    tests: [
      "C8 ${ACTS} random acts by 5 clients: exactly one list_changed for each list that changed, and none else",
      "two clients in one room, and one elsewhere › one takes the torch: the other's room resource updates and its tools list changes; the one elsewhere hears nothing",
    ],
  },
  {
    id: "spec.5.resources.state",
    says: "The player's state changes with every act that changes it",
    tests: [
      "the MUD's resources › the state follows what the player does, and the map what it has discovered",
      "C8 one takes the torch: the other's list and room are flagged, whoever is elsewhere hears nothing",
    ],
  },
  {
    id: "spec.5.resources.room",
    says: "Room resources change when players move",
    tests: [
      "C8 a viewer is notified only of what its own surface may show, ${how} › C8 a move notifies of the newly linked room's resources, and watches that room",
      "two clients in one room, and one elsewhere › one takes the torch: the other's room resource updates and its tools list changes; the one elsewhere hears nothing",
    ],
  },
  {
    id: "spec.5.resources.map",
    says: "The map reflects what was discovered and can be reached",
    tests: [
      "the map shows what was discovered, the room what is there",
      "the MUD's resources › the state follows what the player does, and the map what it has discovered",
    ],
  },
  {
    id: "spec.5.resources.notify",
    says: "resources/updated is sent to subscribers",
    tests: [
      "two clients in one room, and one elsewhere › one takes the torch: the other's room resource updates and its tools list changes; the one elsewhere hears nothing",
      "two clients in one room, and one elsewhere › one player from two clients at once: what one does, the other hears of",
    ],
  },
  {
    id: "spec.5.notification.tools",
    says: "notifications/tools/list_changed has its shape",
    tests: ["the official client v1 › C8 is notified once of a list before the reply to the call that changed it"],
  },
  {
    id: "spec.5.notification.prompts",
    says: "notifications/prompts/list_changed has its shape",
    tests: ["C8 the order on one stream › what a call changed is told before its reply"],
  },
  {
    id: "spec.5.notification.resources",
    says: "notifications/resources/list_changed has its shape",
    tests: ["the standalone stream › is the only one, is primed, and carries nothing but changes"],
  },
  {
    id: "spec.5.notification.updated",
    says: "notifications/resources/updated names the URI",
    tests: [
      "subscriptions/listen over HTTP › acknowledges first, notifies with its id, and ends when the client leaves",
      "the official client v1 › C8 is notified once of a list before the reply to the call that changed it",
    ],
  },
  // §6
  {
    id: "spec.6.consent",
    says: "Consent and control: annotations, confirmation, decisions in the turn; the rest is the host's job",
    tests: [
      "the security guide has a row for each bullet: the mechanism, or the host's job",
      "destructive acts ask where the client can be asked: the first blow, and giving away what is precious",
      "cast: roots › law 3: hidden and unknown offers answer alike, and calls are checked whatever lists showed",
    ],
  },
  {
    id: "spec.6.control",
    says: "What a viewer can reach is its surface, decided again in the turn",
    tests: ["law 3: a call from a stale list is decided in the turn", "cast: roots › owner starter: another viewer's actor does not exist"],
  },
  {
    id: "spec.6.clear-ui",
    says: "Offers have titles, descriptions and schemas, refusals their reason in words",
    tests: [
      "the MUD's tools › every tool has an object schema, a description and annotations",
      "law 3: a call of an offer that is off for a reason is refused NOT_NOW with it",
    ],
  },
  {
    id: "spec.6.privacy.consent",
    says: "Content leaves only as an answer; notifications carry none",
    tests: [
      "C8 a viewer is notified of its own actor and of shared ones, before its reply",
      "subscriptions/listen over HTTP › acknowledges first, notifies with its id, and ends when the client leaves",
    ],
  },
  {
    id: "spec.6.privacy.access",
    says: "Another's state, session, handle and question are not found",
    tests: [
      "a legacy session over HTTP › is bound to its principal on every request",
      "cast: handles › a handle is bound to its starter's principal, before and after its first use",
      "a client of 2026-07-28 that can be asked › another's question is not to be answered, nor one's own with another argument",
      "two clients in one room, and one elsewhere › in 2026-07-28 without a name, a handle's room is listened to, and no other's",
      "a session › of somebody else is not found, whatever is asked of it, and goes on for its own client",
      "a player › cannot act for another, whatever it gives beside its arguments",
    ],
  },
  {
    id: "spec.6.privacy.transmission",
    says: "Nothing is sent of a player to others but what the room shows, under an alias",
    tests: [
      "cast: roots › fills {alias}, and shows no principal",
      "the player state has exactly the specification's fields, and an alias for the player",
      "a player › is met by its own URIs alone, which say nothing of who it is",
    ],
  },
  {
    id: "spec.6.tools.caution",
    says: "Arguments are checked before an actor sees them, work is bounded",
    tests: [
      "arguments that do not fit are refused INVALID, with paths and what was expected",
      "${name}: callers › work past its time is fenced off: its caller is told, its mailbox goes on, what it returns is dropped",
      "hostile arguments are refused or tamed, and leave nothing behind",
    ],
  },
  {
    id: "spec.6.tools.consent",
    says: "Consent before each tool: confirmation where the client can be asked, else the host's job",
    tests: [
      "a tool with `confirm` asks the client, and runs once it is confirmed",
      "a legacy client that can be asked › that cannot be asked is not: its host asks before a destructive tool",
      "the security guide has a row for each bullet: the mechanism, or the host's job",
    ],
  },
  {
    id: "spec.6.tools.understanding",
    says: "Descriptions are the author's and constant in the catalogue",
    tests: [
      "the catalogue is built once, in the definition's order and MCP's newest form, frozen",
      "one of 2026-07-28 without a name finishes the quest by the list it was given first, which never changes",
    ],
  },
  {
    id: "spec.6.tools.untrusted",
    says: "No user's text enters a name, description or annotation",
    tests: [
      "names are unique whatever the case, bounded and clean; the tool is there until one is chosen",
      "another's text is one bounded line without control or format characters, and cannot close its quotation marks",
      "the security guide has a row for each bullet: the mechanism, or the host's job",
    ],
  },
  {
    id: "spec.6.sampling.approve",
    says: "Sampling is asked only of clients that declared it",
    tests: ["a client without the capability is not asked to sample, and learns what is missing"],
  },
  {
    id: "spec.6.sampling.control",
    says: "The client decides; a refusal leaves no trace, nothing is held",
    tests: [
      "a legacy reply › reports a refused, invalid or missing answer, and nothing is applied",
      "a legacy client is asked for sampling and roots, and the call runs again with both",
    ],
  },
  {
    id: "spec.6.flows",
    says: "Authorization flows: tokens, challenges, metadata, scopes",
    tests: [
      "bearer tokens › are requested by a challenge with all a client needs to get one",
      "protected-resource metadata › is at the address in the challenge, and names the authorization servers",
    ],
  },
  {
    id: "spec.6.documentation",
    says: "Security implications are documented, bullet by bullet",
    tests: ["the security guide has a row for each bullet: the mechanism, or the host's job"],
  },
  {
    id: "spec.6.access",
    says: "Access controls and data protection",
    tests: [
      "a legacy session over HTTP › is bound to its principal on every request",
      "cast: roots › owner starter: another viewer's actor does not exist",
      "secret arguments are redacted in the record too",
    ],
  },
  {
    id: "spec.6.practices",
    says: "A token goes no further than the door",
    tests: [
      "TCP tokens › authenticate by the first request, and are not passed on",
      "bearer tokens › of an issuer name the principal by issuer and subject, with their scopes",
    ],
  },
  {
    id: "spec.6.by-design",
    says: "Secrets are replaced before anything is written, bodies can be erased",
    tests: ["secret arguments are redacted, others are not", "erased bodies are no longer in the files"],
  },
  {
    id: "spec.6.trust.desktop",
    says: "A host that confirms each call may take any time: nothing is held for it",
    tests: [
      "a client of 2026-07-28 that can be asked › that never comes back holds nothing",
      "a legacy session over HTTP › expires when idle, is touched at most every ttl/10, and an open stream keeps it",
    ],
  },
  {
    id: "spec.6.trust.server",
    says: "No permanent trust is claimed: the host's job",
    tests: ["the security guide has a row for each bullet: the mechanism, or the host's job"],
  },
  {
    id: "spec.6.trust.each-call",
    says: "Each call stands alone; a retry with its name is applied once",
    tests: [
      "the counter on disk › C4 a call that names itself and is sent again gets its first reply, in each client and era, and is counted once",
    ],
  },
  {
    id: "spec.6.trust.prompts",
    says: "Prompts are listed and rendered, never sent",
    tests: ["a domain value › becomes a prompt's messages", "a connection › a modern client never receives a request of the server"],
  },
  // §7
  {
    id: "spec.7.sdk",
    says: "The official SDK's clients and schemas judge every message",
    tests: [
      "the official client v1 › lists, calls, reads, prompts, completes and logs in its newest revision",
      "the official client v2 › discovers 2026-07-28 and works in it",
      "official clients over HTTP › v1 plays, gets notifications, and ends its session",
    ],
  },
  {
    id: "spec.7.capabilities",
    says: "The capabilities are declared as written",
    tests: ["the MUD's initialize › declares the capabilities of the specification"],
  },
  {
    id: "spec.7.json-rpc",
    says: "Messages are JSON-RPC 2.0",
    tests: [
      "fuzzed input › on a stream after ${era} is answered or ignored, and the next request is served",
      "what a POST must be › media types, JSON and UTF-8 are checked, each with its own status",
      "over a socket › what is no message is an error without the connection's end",
    ],
  },
  {
    id: "spec.7.stateful",
    says: "Connections are stateful",
    tests: [
      "a legacy session over HTTP › gets an id of 128 bits, answers in JSON and negotiates its revision",
      "a connection › initialize makes it one legacy session; before it only ping is answered",
    ],
  },
  {
    id: "spec.7.errors",
    says: "Errors are handled and messages validated",
    tests: [
      "fuzzed input › in a POST gets a status and a JSON-RPC error",
      "the MUD's tools › a tool that does not exist is an error of the request, not of a tool",
      "the MUD's resources › a resource that is not there is an error of the request",
      "in a POST › any JSON value gets an answer or none, never a failure of the server",
      "HTTP's framing › of any bytes is an error or nothing",
    ],
  },
  {
    id: "spec.7.subscriptions",
    says: "Notifications and subscriptions are supported",
    tests: [
      "the official client v1 › C8 is notified once of a list before the reply to the call that changed it",
      "the official client v2 › listens, is notified of what it asked for, and sees a drain end its stream",
    ],
  },
  {
    id: "spec.7.validation.tools",
    says: "Tool parameters are validated against JSON Schema",
    tests: [
      "arguments that do not fit are refused INVALID, with paths and what was expected",
      "registry › checks arguments, with a schema's defaults, and shows a JSON Schema unchanged",
    ],
  },
  {
    id: "spec.7.validation.sanitize",
    says: "User input is sanitized",
    tests: [
      "another's text is one bounded line without control or format characters, and cannot close its quotation marks",
      "hostile arguments are refused or tamed, and leave nothing behind",
      "a player › reads the words of others as data: quoted, bounded, without control characters, never in a description",
    ],
  },
  {
    id: "spec.7.validation.uris",
    says: "Resource URIs and prompt arguments are validated",
    tests: [
      "the MUD's resources › a resource that is not there is an error of the request",
      "the MUD's prompts › game_help wants a topic it knows, and completes it",
      "law 3: choices apply to variables of resources and arguments of prompts too",
    ],
  },
  {
    id: "spec.7.error-format",
    says: "Errors have MCP's format",
    tests: [
      "the MUD's tools › a tool that does not exist is an error of the request, not of a tool",
      "results of 2026-07-28 › report an unknown or hidden resource as -32602 with its URI",
    ],
  },
  {
    id: "spec.7.error-messages",
    says: "Error messages help",
    tests: [
      "the MUD's tools › a step that cannot be is a tool's error that says why",
      "troupe serve › says what is wrong with the command line, with code 2",
      "arguments that do not fit are refused INVALID, with paths and what was expected",
    ],
  },
  {
    id: "spec.7.error-logs",
    says: "Errors are logged without what is sensitive",
    tests: [
      "the log says of a crash what, where and in which code, not with which arguments; in debug it says all",
      "a crash is reported to the operator with its cause, and counted",
    ],
  },
  {
    id: "spec.7.state.consistent",
    says: "State is consistent across requests",
    tests: [
      "${name}: one actor › C2 when a reply is told its turn is read, and watchers have been told before",
      "${name}: one actor › law 2: what is read is frozen, and stays as it was read",
    ],
  },
  {
    id: "spec.7.state.concurrent",
    says: "Concurrent access to what is shared is one after the other",
    tests: [
      "${name}: one actor › C1 calls of one actor run one after the other, work included",
      "the same player from two clients is one player; two blows at once are one after the other or refused, never both half",
    ],
  },
  {
    id: "spec.7.state.sessions",
    says: "Sessions are managed: bound, kept, ended",
    tests: [
      "a legacy session over HTTP › survives a restart with its subscriptions and log level",
      "a legacy session over HTTP › expires when idle, is touched at most every ttl/10, and an open stream keeps it",
      "a legacy session over HTTP › is bound to its principal on every request",
    ],
  },
  {
    id: "spec.7.performance.cache",
    says: "What is asked often is cached",
    tests: [
      "cast: links › computes a surface once per head and viewer",
      "pages are cut once, and their opaque cursors are valid for that list only",
    ],
  },
  {
    id: "spec.7.performance.subscriptions",
    says: "Subscriptions are cheap: flags, however many changes",
    tests: [
      "C8 a viewer is notified only of what its own surface may show, ${how} › C8 a thousand changes during a look are one more look, and undo ends all watches",
      "the standalone stream › C8 keeps flags while the client does not read, and sends each notification once",
    ],
  },
  {
    id: "spec.7.performance.rate",
    says: "Requests are rate limited",
    tests: ["a call of 2026-07-28 › takes a token of its principal's rate limit only"],
  },
  // §8
  {
    id: "spec.8.inspector",
    says: "The Inspector lists, reads and calls",
    tests: [
      "the Inspector over stdio › looks around the MUD",
      "the Inspector over HTTP lists and calls the counter, in both eras",
      "the Inspector over HTTP finds no tool of the MUD that a host could not take, in both eras",
    ],
  },
  {
    id: "spec.8.input-schema",
    says: "All tools define an inputSchema",
    tests: [
      "the MUD's tools › every tool has an object schema, a description and annotations",
      "the Inspector over HTTP finds no tool of the MUD that a host could not take, in both eras",
    ],
  },
  {
    id: "spec.8.content",
    says: "Tool responses have the right content",
    tests: [
      "the MUD's tools › look answers with one text block that describes the room and its exits",
      "a domain value › becomes a tool's result: text, and structured content if the revision has it",
    ],
  },
  {
    id: "spec.8.prompts",
    says: "Prompts handle arguments",
    tests: [
      "the MUD's prompts › room_description tells the room, and the inventory where it is asked to",
      "the MUD's prompts › game_help wants a topic it knows, and completes it",
    ],
  },
  {
    id: "spec.8.uris",
    says: "Resources are at standard URIs",
    tests: [
      "the MUD's resources › are listed as the specification defines them",
      "the MUD's resources › the state follows what the player does, and the map what it has discovered",
    ],
  },
  {
    id: "spec.8.notifications",
    says: "Notifications are sent when state changes",
    tests: [
      "C8 ${ACTS} random acts by 5 clients: exactly one list_changed for each list that changed, and none else",
      "two clients in one room, and one elsewhere › one takes the torch: the other's room resource updates and its tools list changes; the one elsewhere hears nothing",
    ],
  },
  {
    id: "spec.8.errors",
    says: "Errors follow MCP's patterns",
    tests: [
      "the MUD's tools › a step that cannot be is a tool's error that says why",
      "the MUD's tools › a tool that does not exist is an error of the request, not of a tool",
      "the MUD's resources › a resource that is not there is an error of the request",
    ],
  },
  {
    id: "spec.8.security",
    says: "Security controls are in place",
    tests: [
      "the security guide has a row for each bullet: the mechanism, or the host's job",
      "HTTP › refuses unknown hosts, against DNS rebinding",
      "a legacy session over HTTP › is bound to its principal on every request",
      "a session › of somebody else is not found, whatever is asked of it, and goes on for its own client",
    ],
  },
];

export const requirements: readonly Requirement[] = [
  ...product,
  ...specification,
  ...agentic,
  ...apptheory,
  ...cluster,
  ...packet,
  ...theater,
];
