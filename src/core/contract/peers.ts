import type { Json } from "./json.ts";

/** Answers `Peers.ask`; what it returns for `Peers.tell` is dropped. What it throws reaches whoever asked as "knows nothing of that". */
export type PeerListener = (message: Json, from: string) => Json | undefined | Promise<Json | undefined>;

/** The other nodes that serve the same actors and sessions, as one of them reaches them. Nothing here is durable: what must hold is in a store. */
export interface Peers extends AsyncDisposable {
  /** This node's name, `[a-z0-9]{16}`: another after each start. */
  readonly self: string;
  /** To every other node. Lossy: a node that is away, or does not read, never hears it. In order for each pair of nodes. */
  tell(topic: string, message: Json): void;
  /** To one node, by its name. Undefined: it is away, answers too late, or knows nothing of that. */
  ask(node: string, topic: string, message: Json): Promise<Json | undefined>;
  /** One listener for each topic. Returns its undo. */
  on(topic: string, listen: PeerListener): () => void;
  /** Something that was told may have gone unheard here: some was lost on its way, or a node has come or gone. Returns its undo. */
  onGap(run: () => void): () => void;
}

/** A node as the others find it. */
export interface Member {
  readonly node: string;
  /** Where the others reach it. */
  readonly url: string;
}

/** Which nodes there are. */
export interface Members {
  /** Says that this node is there, for `forMs` from now on; and who else is. */
  seen(self: Member, forMs: number): Promise<readonly Member[]>;
  /** This node has gone. */
  left(node: string): Promise<void>;
}
