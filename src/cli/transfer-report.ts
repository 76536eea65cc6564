// Owns: what export and import report: counts, progress, files to copy, and on whose behalf messages will run. Does not own: the streams
// (commands/export.ts, commands/import.ts).
import { actorsOf } from "../bridges/operate/paging.ts";
import type { DumpCounts } from "../core/chain/index.ts";
import {
  type ActorViewer,
  type ExportedActor,
  type Importer,
  isJsonObject,
  type Json,
  type Message,
  systemClock,
} from "../core/contract/index.ts";
import { counted, contextViewer, isReplyAction } from "../core/contract/internal.ts";
import type { DataDirectory } from "./data-directory.ts";
import { openReader } from "./open-store.ts";
import { printLine, visible } from "./output.ts";

const WRITE_EVERY_MS = 200;
/** Reading the clock costs more than a line, so not for each. */
const CLOCK_EVERY = 256;

/** `3 actors, 12 events, 1 reply, 0 messages, 0 dead letters`. */
export const countsText = ({ actors, events, calls, messages, letters }: DumpCounts): string =>
  [
    counted(actors, "actor"),
    counted(events, "event"),
    counted(calls, "reply", "replies"),
    counted(messages, "message"),
    counted(letters, "dead letter"),
  ].join(", ");

/** Progress on one line that is overwritten; only on a terminal. */
export class ProgressLine {
  readonly #verb: string;
  readonly #enabled: boolean;
  #updates = 0;
  #writtenAt = 0;
  #isWritten = false;

  constructor(verb: string, json: boolean) {
    this.#verb = verb;
    this.#enabled = !json && process.stderr.isTTY;
  }

  update(counts: DumpCounts): void {
    if (!this.#enabled || ++this.#updates % CLOCK_EVERY !== 0) return;
    const now = systemClock.now();
    if (now - this.#writtenAt < WRITE_EVERY_MS) return;
    this.#writtenAt = now;
    this.#isWritten = true;
    process.stderr.write(`\r\u001b[K${this.#verb} ${countsText(counts)}`);
  }

  /** Clears the line. */
  end(): void {
    if (this.#isWritten) process.stderr.write("\r\u001b[K");
    this.#isWritten = false;
  }
}

/** Prints the result to standard output, or to standard error if the export went to standard output. */
export const showResult = (value: object, text: string, json: boolean, toError: boolean): void => {
  const line = json ? JSON.stringify(value) : visible(text);
  if (toError) process.stderr.write(`${line}\n`);
  else printLine(line);
};

/** What guests store besides chains, which an export does not contain. */
const GUEST_FILES = ["content.db", "guests"];

/** What has to be copied along with an export of this directory. Empty without guests. */
export const copiesNeeded = async (directory: DataDirectory, kind?: string): Promise<readonly string[]> => {
  const { GUEST } = await import("../bridges/wasm/guest-state.ts");
  if (kind !== undefined && kind !== GUEST) return [];
  const { store } = await openReader({ data: directory.path });
  await using _ = store;
  for await (const _guest of actorsOf(store, { kind: GUEST, page: 1 })) return GUEST_FILES;
  return [];
};

/** A sentence about them. */
export const copiesText = (files: readonly string[]): string =>
  files.length === 0 ? "" : ` What guests store is not in it: copy ${files.join(" and ")} too (docs/guide/backup.md).`;

const MOST_VIEWERS = 100;

interface ViewerCount {
  readonly principal: string | undefined;
  readonly scopes: readonly string[];
  /** `kind/role`. */
  readonly roles: readonly string[];
  messages: number;
}

/** Counts the messages, dead letters and pending replies of an import by the viewer that they act for: a file can name any. */
export class MessageViewers {
  #others = 0;
  readonly #runs = new Map<string, ViewerCount>();

  /** Wraps an importer to count them. `leaveOut` drops messages, dead letters and pending replies. */
  into(place: Importer, leaveOut: boolean): Importer {
    return {
      actor: (actor) => {
        this.#countRow(actor);
        return place.actor(leaveOut ? withoutOthersReplies(actor) : actor);
      },
      message: async (undelivered) => {
        this.#count(undelivered.message);
        return leaveOut || (await place.message(undelivered));
      },
      letter: async (letter) => {
        this.#count(letter.message);
        return leaveOut || (await place.letter(letter));
      },
      flush: () => place.flush(),
      [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
    };
  }

  /** Reports them on standard error, if there are any. */
  report(leftOut: boolean, json: boolean): void {
    if (this.#runs.size === 0) return;
    const runs = Array.from(this.#runs.values());
    const others = this.#others === 0 ? {} : { others: this.#others };
    const rest = this.#others === 0 ? [] : [`${this.#others} as others`];
    const line = json
      ? JSON.stringify({ event: "import-messages", leftOut, runs: runs.map(runJson), ...others })
      : visible(`${leftOut ? LEFT_OUT : WILL_RUN} ${[...runs.map(runText), ...rest].join("; ")}.`);
    process.stderr.write(`${line}\n`);
  }

  #countRow({ row }: ExportedActor): void {
    for (const reply of Object.values(row.pending)) {
      const viewer = replyViewer(reply);
      if (viewer !== undefined) this.#countAs(viewer);
    }
  }

  /** A reply acts as the viewer of the call that waits for it, which its context names. */
  #count({ viewer, action, args, replyContext }: Message): void {
    const context: Json | undefined = isReplyAction(action) && isJsonObject(args) ? args["context"] : undefined;
    this.#countAs(viewer ?? contextViewer(context));
    const waits = contextViewer(replyContext);
    if (waits !== undefined) this.#countAs(waits);
  }

  #countAs(viewer: ActorViewer | undefined): void {
    const { principal, scopes = [], rolesByKind = {} } = viewer ?? {};
    const roles = Object.entries(rolesByKind).flatMap(([kind, names]) => names.map((name) => `${kind}/${name}`));
    const name = JSON.stringify([principal, scopes, roles]);
    const known = this.#runs.get(name);
    if (known !== undefined) known.messages += 1;
    else if (this.#runs.size < MOST_VIEWERS) this.#runs.set(name, { principal, scopes, roles, messages: 1 });
    else this.#others += 1;
  }
}

/** The viewer on whose behalf a pending reply will run its handler. */
const replyViewer = (reply: Json): ActorViewer | undefined => (isJsonObject(reply) ? contextViewer(reply["replyContext"]) : undefined);

/** Keeps pending replies without a viewer: repeating the import with its messages would not add them. */
function withoutOthersReplies(actor: ExportedActor): ExportedActor {
  const pending = Object.fromEntries(Object.entries(actor.row.pending).filter(([, reply]) => replyViewer(reply) === undefined));
  return { ...actor, row: { ...actor.row, pending } };
}

const WILL_RUN = "Messages of it run once it is served, dead letters when replayed (--no-messages leaves both out):";
const LEFT_OUT = "Left out:";

const runText = ({ principal, scopes, roles, messages }: ViewerCount): string =>
  `${counted(messages, "message")} as ${principal ?? "nobody"}${withText("with", scopes)}${withText("in the roles", roles)}`;

const runJson = ({ roles, ...run }: ViewerCount): object => (roles.length === 0 ? run : { ...run, roles });

const withText = (word: string, names: readonly string[]): string => (names.length === 0 ? "" : ` ${word} ${names.join(" ")}`);
