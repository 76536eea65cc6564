import {
  type Bag,
  type CancelSignal,
  type Caller,
  type Channel,
  type Json,
  type ListName,
  type Log,
  type Source,
  isList,
} from "../../../core/contract/index.ts";
import { isTexts } from "../../../core/contract/internal.ts";
import type { Posture } from "../../source/index.ts";
import { Audience, type AudienceHost } from "../audience.ts";
import { viewerOf, type Core, type Lasting } from "../core.ts";
import { Fault, inLog } from "../errors.ts";
import { bagIn } from "../json.ts";
import { notificationText, type Request, type RequestId } from "../json-rpc.ts";
import type { Target } from "../offers.ts";
import { modernReply, wholeText } from "../reply.ts";
import { subscribable } from "../subscribable.ts";
import { SUBSCRIPTION_META } from "./envelope.ts";
import { postureOf } from "./perform.ts";
import type { Task } from "./task.ts";
import { TaskNotices } from "./task-notices.ts";

const FILTERS = [
  ["toolsListChanged", "tools"],
  ["promptsListChanged", "prompts"],
  ["resourcesListChanged", "resources"],
] as const;

const changed = (list: ListName, id: RequestId): string =>
  notificationText(`notifications/${list}/list_changed`, { _meta: { [SUBSCRIPTION_META]: id } });

// Clients count their requests, so very many who listen have few ids between them, and to make a text for each costs more than all
// else but the write.
const SMALL_IDS = Array.from({ length: 64 }, (_, id) => id);
const CHANGED: Readonly<Record<ListName, readonly string[]>> = {
  tools: SMALL_IDS.map((id) => changed("tools", id)),
  resources: SMALL_IDS.map((id) => changed("resources", id)),
  prompts: SMALL_IDS.map((id) => changed("prompts", id)),
};

/** One open `subscriptions/listen`: acknowledged first, then notices of what was asked for and of nothing else (C8). */
export class Listen implements AudienceHost, Lasting {
  readonly id: RequestId;
  readonly audience: Audience;
  readonly source: Source;
  readonly posture: Posture;
  readonly wanted: readonly ListName[];
  readonly #core: Core;
  #ended: ((channel: Channel) => void) | undefined;
  #channel: Channel | undefined;
  #tasks: TaskNotices | undefined;

  constructor(core: Core, { request, caller, source }: ListenOptions, wanted: readonly ListName[]) {
    this.#core = core;
    this.id = request.id;
    this.source = source;
    this.posture = postureOf(core, caller);
    this.wanted = wanted;
    this.audience = new Audience(this, viewerOf(caller, undefined));
  }

  get log(): Log {
    return this.#core.settings.log;
  }

  /** From now on it counts. */
  begin(channel: Channel, ended: (channel: Channel) => void): void {
    this.#channel = channel;
    this.#ended = ended;
    this.#core.open.add(this);
  }

  tell(method: string, params: Bag): void {
    this.#channel?.send(this.#text(method, params));
  }

  #text(method: string, params: Bag): string {
    return notificationText(method, { _meta: { [SUBSCRIPTION_META]: this.id }, ...params });
  }

  /** How these tasks stand, now and whenever one changes. */
  tellOf(tasks: readonly Task[]): void {
    const [channel, all] = [this.#channel, this.#core.tasks];
    if (channel === undefined || all === undefined || tasks.length === 0) return;
    this.#tasks = new TaskNotices(channel, tasks, (task) => all.notice(task, { [SUBSCRIPTION_META]: this.id }));
    // Ended by what it sent.
    if (this.#channel === undefined) this.#tasks.stop();
  }

  listChanged(list: ListName): string {
    return (typeof this.id === "number" ? CHANGED[list][this.id] : undefined) ?? changed(list, this.id);
  }

  updated(uri: string): string {
    return this.#text("notifications/resources/updated", { uri });
  }

  /** Gracefully: the request gets its result. */
  finish(): void {
    const meta = { [SUBSCRIPTION_META]: this.id, ...this.#core.serverMeta };
    try {
      this.#channel?.send(wholeText(modernReply(this.id, { members: "" }, "complete", "", meta)));
    } finally {
      this.cancel();
    }
  }

  /** Cancelled with it. */
  heed(gone: CancelSignal): void {
    if (gone.aborted) this.cancel();
    else gone.addEventListener("abort", () => this.cancel(), { once: true });
  }

  /** The client cancelled or is gone. */
  cancel(): void {
    const [channel, ended] = [this.#channel, this.#ended];
    if (channel === undefined) return;
    this.#channel = this.#ended = undefined;
    this.audience.stop();
    this.#tasks?.stop();
    this.#core.open.delete(this);
    ended?.(channel);
  }
}

export interface ListenOptions {
  readonly request: Request;
  readonly caller: Caller;
  readonly source: Source;
  /** Made once everything about the request is known to be right. */
  readonly open: () => Channel;
  /** Whoever ended it. */
  readonly ended: (channel: Channel) => void;
}

/** Throws a `Fault` before anything is sent. */
export async function listen(core: Core, options: ListenOptions): Promise<Listen> {
  const { request, caller, source, open, ended } = options;
  core.admit();
  core.limit(caller);
  if (core.open.size >= core.settings.limits.listens) throw new Fault("BUSY", "Too many streams are open; close one first.");
  const filter = bagIn(request.params, "notifications");
  if (filter === undefined) throw new Fault("PARAMS", "subscriptions/listen needs notifications: what to be told of.");
  const wanted = FILTERS.filter(([member]) => filter[member] === true);
  const uris = await honoured(core, filter, caller, source);
  const tasks = tasksIn(core, filter, caller);
  const made = new Listen(
    core,
    options,
    wanted.map(([, list]): ListName => list),
  );
  for (const [uri, target] of uris) made.audience.subscribe(uri, target);
  // Whoever acts after the acknowledgement is told: what a change is told from is known before it.
  await made.audience.listen();
  let channel: Channel;
  try {
    channel = open();
  } catch (error) {
    made.audience.stop();
    throw error;
  }
  made.begin(channel, ended);
  made.tell("notifications/subscriptions/acknowledged", {
    notifications: {
      ...Object.fromEntries(wanted.map(([member]) => [member, true])),
      ...(filter["resourceSubscriptions"] === undefined ? undefined : { resourceSubscriptions: [...uris.keys()] }),
      ...(filter["taskIds"] === undefined ? undefined : { taskIds: tasks.map(({ id }) => id) }),
    },
  });
  made.tellOf(tasks);
  made.audience.start(channel).catch((error: unknown) => core.settings.log("error", { event: "listen-failed", ...inLog(error) }));
  return made;
}

// As with URIs: of others' nothing is told, not even that they are.
function tasksIn({ tasks, settings }: Core, filter: Bag, caller: Caller): readonly Task[] {
  const asked: Json | undefined = filter["taskIds"];
  if (asked === undefined) return [];
  const most = settings.limits.subscriptions;
  if (!isTexts(asked) || asked.length > most) throw new Fault("PARAMS", `taskIds is a list of at most ${most} ids.`);
  return tasks?.those(asked, viewerOf(caller, undefined)) ?? [];
}

// Of the URIs asked for, those this viewer can see: the others are left out of the acknowledgement as if they never were.
async function honoured(core: Core, filter: Bag, caller: Caller, source: Source): Promise<Map<string, Target>> {
  const asked: Json | undefined = filter["resourceSubscriptions"];
  const found = new Map<string, Target>();
  if (asked === undefined) return found;
  const { subscriptions: most, subscriptionLength: longest } = core.settings.limits;
  if (!isList(asked) || asked.length > most) throw new Fault("PARAMS", `resourceSubscriptions is a list of at most ${most} URIs.`);
  const uris = new Set(asked.filter((uri) => typeof uri === "string"));
  if (uris.size === 0) return found;
  if ([...uris].reduce((length, uri) => length + uri.length, 0) > longest)
    throw new Fault("PARAMS", `resourceSubscriptions may have ${longest} characters in all: listen to fewer at once.`);
  // Each is looked for as a read of its own would be.
  for (const _uri of uris) core.limit(caller);
  const viewer = viewerOf(caller, undefined);
  const surface = await source.surface(viewer);
  const targets = await Promise.all(Array.from(uris, async (uri) => [uri, await subscribable(source, viewer, surface, uri)] as const));
  for (const [uri, target] of targets) if (target !== undefined) found.set(uri, target);
  return found;
}
