import type { IndexChanges } from "../../core/chain/internal.ts";
import type { Change, Message, RolesByKind, Step, Viewer } from "../../core/contract/index.ts";
import type { WorkHost } from "./durable-work.ts";
import type { Names } from "./names.ts";
import type { Sealer } from "./sealed.ts";

/** What actors need of the node that runs their turns. */
export interface NodeHost extends WorkHost {
  readonly names: Names;
  /** What turns mean for the indexes of this node. */
  readonly indexes: IndexChanges;
  /** How long replies to keyed calls are kept (C4). */
  readonly keyMs: number;
  /** The wait after a delivery's first failure, four times as long after the second. */
  readonly retryMs: number;
  knows(kind: string): boolean;
  sealerFor(kind: string): Sealer;
  /** The roles that this caller has, in the kinds of this node. */
  rolesOf(viewer: Viewer): RolesByKind;
  seed(): string;
  /** What is durable in a moment: whoever hears of it asks the actor before telling anybody (C2). `message`: whose caller is told anyway. */
  hint(change: Change, message?: Message): void;
  /** Callers of any node who wait for these messages' answers are told how far that is. */
  report(steps: Readonly<Record<string, Step>>): void;
}
