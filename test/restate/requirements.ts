// What Troupe promises of actors on several machines, each with the tests that show it.
import type { Requirement } from "../requirements.ts";

const row = "a session that several nodes serve ›";
const answer = "a response to a node's request ›";
const rest = "the rest of a reply, resumed at another node ›";
const stream = "the standalone stream ›";
const shown = "C8 after seeing lists at several nodes a client is notified ›";
const ends = "what must come to its end does, whoever cancels it ›";
const killed =
  "C2 C4 C5 a node and then the leading server are killed under load: every acknowledged call once, and listeners see the chain's state";
const mud =
  "two official clients play the MUD through two nodes: they see each other, are asked at one and heard at the other, one comes to its ending, and no item is lost";
const upgraded =
  "new calls run on new code and old state, what is under way ends on the code it began with, and then the old node may stop";
const stopped =
  "a turn whose node is told to stop ends there within its grace, or runs again at another node, and its caller has the answer";
const secret = "another secret keeps nodes apart, on either side";

/** Of the engine. */
const engine: readonly Requirement[] = [
  {
    id: "cluster.chains",
    says: "The same workload leaves byte-equal chains on one machine and on a Restate server",
    tests: [
      "the golden workload leaves byte-equal chains in the local engine and on the server",
      "a sequence of ${title} leaves byte-equal chains in the local engine and in durable turns",
    ],
  },
  {
    id: "cluster.concurrent",
    says: "Under concurrent work each call is applied once and per-pair order holds, on either engine",
    tests: [
      "C1 C4 C5 concurrent work in one process: each call once, per-pair order, nothing appears or is lost",
      "C1 C4 C5 concurrent work on a Restate server: each call once, per-pair order, nothing appears or is lost",
    ],
  },
  {
    id: "cluster.transfer",
    says: "export and import move everything into a cluster and out of it, every chain verified on arrival",
    tests: [
      "C4 C5 C7 all of a data directory goes on on a Restate server, and from there in another data directory",
      "C5 messages on their way are exported in the order they were sent, also those that wait for another or for a time",
      "what cannot be moved says why: a kind that no node serves, a secret that is missing, nodes that are away",
      "troupe import and export move a cluster",
    ],
  },
  {
    id: "cluster.key",
    says: "One state key is written once per turn and stays short; older events and replies are in an archive",
    tests: [
      "C6 one state key is written per turn that leaves an event, once, after what leaves it for the archive",
      "an actor's own key stays short › events leave it once they are many",
      "an actor's own key stays short › events leave it once they are ${what}",
      "an actor's own key stays short › C4 replies leave it for the archive, and those that are over are forgotten",
      "C7 history waits for events that have left their actor and are on their way to its archive",
    ],
  },
  {
    id: "cluster.direct",
    says: "A turn that needs nothing but its actor's own keys goes without the SDK and leaves what it leaves with it, wherever it is cut",
    tests: [
      "turns without the SDK: ${what} › leave what they leave with it: chains, keys, sends, replies, hints, faults",
      'turns without the SDK: ${what} › law 4: leave the same where attempts are cut after ${cuts.join(", ")} frames, and are told of',
      "law 4: a turn that is cut after any of its frames is answered by another attempt, and applied once",
      "what the server signs goes without the SDK too, and what another would have to sign runs nowhere",
    ],
  },
  {
    id: "cluster.again",
    says: "A turn that is cut anywhere and run again leaves what it would have left",
    tests: [
      "law 4: a turn that is cut anywhere and run again leaves the same chain, keys, sends and replies",
      "law 4: what a turn decided by the clock stays decided when it is run again later",
      "C4 work that is cut and runs again asks the same under the same key",
    ],
  },
  {
    id: "cluster.values",
    says: "Refusals, crashes and faults are values: nothing is tried for ever with an actor's key held",
    tests: [
      "C3 what throws, refuses, needs or is no JSON sets no key and sends nothing, in work too",
      "a turn that has no text is a crash, not an invocation that is tried for ever",
      `${ends} a stop by the engine ends its actor and all its children, at whichever of them it is cancelled`,
      `${ends} C5 a delivery that waits to be tried again is, and ends as a dead letter`,
    ],
  },
  {
    id: "cluster.keys",
    says: "A keyed call has its first reply again, through any node and after a kill",
    tests: [
      "C4 a key that was applied gets its first reply again, one that was not runs again, and principals do not share keys",
      "C4 who took a keyed call is known for as long as its reply is",
    ],
  },
  {
    id: "cluster.timers",
    says: "Wakes outlive every node",
    tests: ["a wake that is due while its node is being restarted rings once another runs, and one that is not due yet later"],
  },
  {
    id: "cluster.redact",
    says: "What a kind redacts is nowhere on the server",
    tests: [
      "what a kind redacts is nowhere on the server: not while it is worked on, nor after, nor in dead letters",
      "what was sealed opens as it was, and shows nothing before",
      "another secret, a changed text, a cut one: none opens",
    ],
  },
  {
    id: "cluster.killed",
    says: "With a node and the leading server killed under load, every acknowledged call is in its chain exactly once",
    tests: [
      killed,
      "kill −9 of the server under load: every acknowledged call, keyed or not, is in its chain exactly once, and the chains verify",
      "three servers count as one, and nothing is lost or doubled when the leader of most partitions is killed",
    ],
  },
];

/** Of nodes: how they come, go and are told of. */
const nodes: readonly Requirement[] = [
  {
    id: "cluster.register",
    says: "Registering is a command of its own, and asks nothing again at a known address unless forced",
    tests: ["registering tells what was found; at a known address nothing is asked again unless it is forced"],
  },
  {
    id: "cluster.unreachable",
    says: "What Restate cannot reach, and a server that is away, are told in sentences that say what to do",
    tests: [
      "what Restate cannot reach, and what is no endpoint, is told with all that Restate says of it",
      "a server that is away is told with its address, and a wrong --engine with an example",
    ],
  },
  {
    id: "cluster.upgrade",
    says: "New code takes new turns while calls end on the code they began with; a deployment in use is kept",
    tests: [upgraded, "a deployment is listed with the calls bound to it, and kept while there are any or new calls go to it"],
  },
  {
    id: "cluster.drain",
    says: "A node that is told to stop ends its turns within its grace, or they run again elsewhere",
    tests: [stopped],
  },
  {
    id: "cluster.migrate",
    says: "A state of a lower version is migrated with the next turn, one of a higher is refused",
    tests: ["a state of a lower version is migrated with the next turn, one of a higher version is refused"],
  },
  {
    id: "cluster.dev",
    says: "troupe cluster dev runs a server and N nodes behind one address; Ctrl-C ends all of it",
    tests: [
      "as a user starts it, official clients play over two nodes, go on when one is killed, and Ctrl-C ends all",
      "one address spreads connections over nodes that share a new secret, and Restate reaches them; Ctrl-C ends all and leaves nothing",
      "with --data, state, the address under which Restate knows the nodes and what they share are there again at the next start",
    ],
  },
  {
    id: "cluster.secret",
    says: "Only who knows the secret is a node; strangers are bounded in number, words and time",
    tests: [
      secret,
      "a recorded stream, sent once more, opens nothing",
      "a stranger's words are bounded, and a node's",
      "strangers in the middle of a greeting are bounded, and have to come to an end",
      "a node serves the modules on the engine at ports of its own, and the secret is in no argument",
    ],
  },
  {
    id: "cluster.hints",
    says: "Nodes tell each other hints that may be lost: what was lost is noticed and made up for",
    tests: [
      "C8 200 changes through one node while half of the hints are lost: a listener on another sees each, by the gap and not by the clock",
      "C2 a hint that comes before its turn is durable is told of once it is, and not before",
      "a hint that was lost is made up for when the peers know of a gap, and after a while when nobody does",
      "half of the hints may be lost: whoever reads again after a gap ends up with the truth",
    ],
  },
];

/** Of many gateways, sentence by sentence as the guide has them. */
const gateways: readonly Requirement[] = [
  {
    id: "cluster.clients.any-node",
    says: "Each request of a session may go to any node",
    tests: [
      "an official client whose every request goes to another node › v1 is asked, is notified though its node has died, and ends its session",
      "an official client whose every request goes to another node › v2 works in both eras, and is asked in both",
      mud,
    ],
  },
  {
    id: "cluster.clients.one-key",
    says: "Several nodes need one key for request states, and are refused without",
    tests: ["several nodes without a common requestStateKey are refused at the start"],
  },
  {
    id: "cluster.clients.answers",
    says: "An answer reaches the call that asked from any node, within its session only; one for a dead node is accepted and dropped",
    tests: [
      `${answer} reaches it from any node directly`,
      `${answer} of another session is dropped, whichever node gets it`,
      `${answer} for a dead node is accepted and dropped`,
    ],
  },
  {
    id: "cluster.clients.cancellations",
    says: "A cancellation ends the request wherever it runs",
    tests: ["a cancellation › aborts a request of the same session on another node"],
  },
  {
    id: "cluster.clients.rows",
    says: "Subscriptions, log level and the end of a session take effect at the other nodes, at the latest when they notice a gap",
    tests: [
      `${row} is notified of subscriptions made at another node until it unsubscribes at a third`,
      `${row} uses the log level that was set at another node`,
      `${row} ends at all nodes: streams close and running requests are aborted`,
      `${row} whose hints were lost is read again after a gap by nodes that use it`,
      `${row} keeps the concurrent changes of two nodes`,
    ],
  },
  {
    id: "cluster.clients.one-stream",
    says: "A session has one standalone stream in the whole cluster; the newest GET has it",
    tests: [
      `${stream} the newest GET takes over the stream, whichever node it reaches`,
      `${stream} a stream that its client lost or does not read moves to another node`,
      `${stream} that moved while the hint was lost ends at the old node after a gap`,
    ],
  },
  {
    id: "cluster.clients.gone",
    says: "The stream of a node that is gone is opened at any other, which says to ask again",
    tests: [
      `${stream} opens at another node at once when its node has died`,
      `${shown} when it comes to a node that cannot know what it saw`,
    ],
  },
  {
    id: "cluster.clients.resume",
    says: "A reply that broke off is resumed at any node, each kept message once and in order; of a dead node what was kept",
    tests: [
      `${rest} arrives whole, once and in order`,
      `${rest} arrives though every hint is lost, at once after a gap`,
      `${rest} of a dead node ends with what was stored`,
    ],
  },
  {
    id: "cluster.clients.once-too-often",
    says: "A client may be told once too often that something changed, and never once too seldom",
    tests: [
      "an official client whose every request goes to another node › v1 is notified though half of the hints between nodes are lost",
      `${shown} after a gap, if another node's hint of a list was lost`,
    ],
  },
  {
    id: "cluster.clients.expiry",
    says: "A session expires when no node has seen it for its whole time to live",
    tests: [`${row} expires only when it is idle at all nodes`],
  },
];

export const cluster: readonly Requirement[] = [...engine, ...nodes, ...gateways];
