// Owns: `subscriptions/listen`: what it asks for, and its notifications until it ends (C8). Does not own: when a list counts as changed
// (client-notifications.ts).
import {
  type JsonObject,
  type CancelSignal,
  type Caller,
  type Channel,
  isList,
  type Json,
  type ListName,
  type Log,
  type Source,
} from "../../../core/contract/index.ts";
import { isTexts, safeCall } from "../../../core/contract/internal.ts";
import type { ListMode } from "../../source/index.ts";
import { type Core, type OpenEnded, viewerOf } from "../core.ts";
import { SUBSCRIPTION_META } from "../envelope.ts";
import { Fault, inLog } from "../errors.ts";
import { objectIn, notificationText, type Request, type RequestId } from "../json-rpc.ts";
import { subscribable, type Target } from "../find-offer.ts";
import { modernReply, wholeText } from "../result-shapes.ts";
import { type SubscriptionHost, ClientNotifications } from "../client-notifications.ts";
import type { Task } from "../task.ts";
import { listModeOf } from "./modern-request.ts";

const FILTERS = [
  ["toolsListChanged", "tools"],
  ["promptsListChanged", "prompts"],
  ["resourcesListChanged", "resources"],
] as const;

const changed = (list: ListName, id: RequestId): string =>
  notificationText(`notifications/${list}/list_changed`, { _meta: { [SUBSCRIPTION_META]: id } });

// Clients number their requests, so very many listeners share few ids, and building a text for each would cost more than everything else
// but the write.
const SMALL_IDS = Array.from({ length: 64 }, (_, id) => id);
const CHANGED: Readonly<Record<ListName, readonly string[]>> = {
  tools: SMALL_IDS.map((id) => changed("tools", id)),
  resources: SMALL_IDS.map((id) => changed("resources", id)),
  prompts: SMALL_IDS.map((id) => changed("prompts", id)),
};

/** One open `subscriptions/listen`: it is acknowledged first, then notified of what it requested and of nothing else (C8). */
export class Listen implements SubscriptionHost, OpenEnded {
  readonly id: RequestId;
  readonly subscriptions: ClientNotifications;
  readonly source: Source;
  readonly listMode: ListMode;
  readonly wanted: readonly ListName[];
  readonly #core: Core;
  #ended: ((channel: Channel) => void) | undefined;
  #channel: Channel | undefined;
  #tasks: TaskNotices | undefined;

  constructor(core: Core, { request, caller, source }: ListenOptions, wanted: readonly ListName[]) {
    this.#core = core;
    this.id = request.id;
    this.source = source;
    this.listMode = listModeOf(core, caller);
    this.wanted = wanted;
    this.subscriptions = new ClientNotifications(this, viewerOf(caller, undefined));
  }

  get log(): Log {
    return this.#core.settings.log;
  }

  /** It counts as open from now on. */
  begin(channel: Channel, ended: (channel: Channel) => void): void {
    this.#channel = channel;
    this.#ended = ended;
    this.#core.openStreams.add(this);
  }

  notify(method: string, params: JsonObject): void {
    this.#channel?.send(this.#text(method, params));
  }

  #text(method: string, params: JsonObject): string {
    return notificationText(method, { _meta: { [SUBSCRIPTION_META]: this.id }, ...params });
  }

  /** Sends the status of these tasks, now and whenever it changes. */
  watchTasks(tasks: readonly Task[]): void {
    const [channel, all] = [this.#channel, this.#core.tasks];
    if (channel === undefined || all === undefined || tasks.length === 0) return;
    this.#tasks = new TaskNotices(channel, tasks, (task) => all.notice(task, { [SUBSCRIPTION_META]: this.id }));
    // Sending may have ended it.
    if (this.#channel === undefined) this.#tasks.stop();
  }

  listChanged(list: ListName): string {
    return (typeof this.id === "number" ? CHANGED[list][this.id] : undefined) ?? changed(list, this.id);
  }

  updated(uri: string): string {
    return this.#text("notifications/resources/updated", { uri });
  }

  /** Ends it gracefully: the request gets its result. */
  finish(): void {
    const meta = { [SUBSCRIPTION_META]: this.id, ...this.#core.serverMeta };
    try {
      this.#channel?.send(wholeText(modernReply(this.id, { members: "" }, "complete", "", meta)));
    } finally {
      this.cancel();
    }
  }

  cancelWith(disconnected: CancelSignal): void {
    if (disconnected.aborted) this.cancel();
    else disconnected.addEventListener("abort", () => this.cancel(), { once: true });
  }

  /** The client cancelled it or has left. */
  cancel(): void {
    const [channel, ended] = [this.#channel, this.#ended];
    if (channel === undefined) return;
    this.#channel = this.#ended = undefined;
    this.subscriptions.stop();
    this.#tasks?.stop();
    this.#core.openStreams.delete(this);
    ended?.(channel);
  }
}

export interface ListenOptions {
  readonly request: Request;
  readonly caller: Caller;
  readonly source: Source;
  /** Called once the request is known to be valid. */
  readonly open: () => Channel;
  /** Called at its end, whatever ended it. */
  readonly ended: (channel: Channel) => void;
}

/** Throws a `Fault` before anything is sent. */
export async function listen(core: Core, options: ListenOptions): Promise<Listen> {
  const { request, caller, source, open, ended } = options;
  core.admit();
  core.limit(caller);
  if (core.openStreams.size >= core.settings.limits.listens) throw new Fault("BUSY", "Too many streams are open; close one first.");
  const filter = objectIn(request.params, "notifications");
  if (filter === undefined) throw new Fault("PARAMS", "subscriptions/listen needs notifications: what to be notified of.");
  const wanted = FILTERS.filter(([member]) => filter[member] === true);
  const uris = await honoured(core, filter, caller, source);
  const tasks = tasksIn(core, filter, caller);
  const made = new Listen(
    core,
    options,
    wanted.map(([, list]): ListName => list),
  );
  for (const [uri, target] of uris) made.subscriptions.subscribe(uri, target);
  // A change after the acknowledgement must be noticed, so the lists it is compared with are read before.
  await made.subscriptions.listen();
  let channel: Channel;
  try {
    channel = open();
  } catch (error) {
    made.subscriptions.stop();
    throw error;
  }
  made.begin(channel, ended);
  made.notify("notifications/subscriptions/acknowledged", {
    notifications: {
      ...Object.fromEntries(wanted.map(([member]) => [member, true])),
      ...(filter["resourceSubscriptions"] === undefined ? undefined : { resourceSubscriptions: [...uris.keys()] }),
      ...(filter["taskIds"] === undefined ? undefined : { taskIds: tasks.map(({ id }) => id) }),
    },
  });
  made.watchTasks(tasks);
  made.subscriptions.start(channel).catch((error: unknown) => core.settings.log("error", { event: "listen-failed", ...inLog(error) }));
  return made;
}

// As with URIs, nothing is disclosed about the tasks of others, not even that they exist.
function tasksIn({ tasks, settings }: Core, filter: JsonObject, caller: Caller): readonly Task[] {
  const wanted: Json | undefined = filter["taskIds"];
  if (wanted === undefined) return [];
  const most = settings.limits.subscriptions;
  if (!isTexts(wanted) || wanted.length > most) throw new Fault("PARAMS", `taskIds is a list of at most ${most} ids.`);
  return tasks?.those(wanted, viewerOf(caller, undefined)) ?? [];
}

// The requested URIs that this viewer can see. The others are left out of the acknowledgement as if they did not exist.
async function honoured(core: Core, filter: JsonObject, caller: Caller, source: Source): Promise<Map<string, Target>> {
  const wanted: Json | undefined = filter["resourceSubscriptions"];
  const found = new Map<string, Target>();
  if (wanted === undefined) return found;
  const { subscriptions: most, subscriptionLength: longest } = core.settings.limits;
  if (!isList(wanted) || wanted.length > most) throw new Fault("PARAMS", `resourceSubscriptions is a list of at most ${most} URIs.`);
  const uris = new Set(wanted.filter((uri) => typeof uri === "string"));
  if (uris.size === 0) return found;
  if ([...uris].reduce((length, uri) => length + uri.length, 0) > longest)
    throw new Fault("PARAMS", `resourceSubscriptions may have ${longest} characters in all: listen to fewer at once.`);
  // Each costs as much as reading it.
  for (const _uri of uris) core.limit(caller);
  const viewer = viewerOf(caller, undefined);
  const surface = await source.surface(viewer);
  const find = (uri: string): Promise<Target | undefined> =>
    // A URI whose source fails cannot be listened to now. The client still gets the others.
    subscribable(source, viewer, surface, uri).catch((error: unknown) => {
      core.settings.log("error", { event: "listen-failed", uri, ...inLog(error) });
      return undefined;
    });
  const targets = await Promise.all(Array.from(uris, async (uri) => [uri, await find(uri)] as const));
  for (const [uri, target] of targets) if (target !== undefined) found.set(uri, target);
  return found;
}

/** Notifies a stream of the tasks it requested. Each notification has the status at the time the stream can be written to (C8). */
export class TaskNotices {
  readonly #channel: Channel;
  readonly #textOf: (task: Task) => string;
  /** Undoes the watching of each task that has not ended. */
  readonly #undo = new Map<Task, () => void>();
  readonly #stale: Set<Task>;
  #undoReady: (() => void) | undefined;

  /** Sends all of them once, since they may have ended already. */
  constructor(channel: Channel, tasks: readonly Task[], textOf: (task: Task) => string) {
    this.#channel = channel;
    this.#textOf = textOf;
    this.#stale = new Set(tasks);
    for (const task of tasks) {
      const undo = task.watch(() => {
        this.#stale.add(task);
        this.#send();
      });
      this.#undo.set(task, undo);
    }
    this.#send();
  }

  #send(): void {
    if (this.#undoReady !== undefined) return;
    for (const task of this.#stale) {
      if (!this.#channel.ready) {
        this.#undoReady = this.#channel.onReady(() => this.#resume());
        return;
      }
      this.#stale.delete(task);
      if (task.over) this.#unwatch(task);
      // A failure to send must not reach the task.
      safeCall(
        () => this.#channel.send(this.#textOf(task)),
        () => this.stop(),
      );
    }
  }

  #resume(): void {
    this.#undoReady?.();
    this.#undoReady = undefined;
    this.#send();
  }

  // A task's result may be long, and a stream may last for months.
  #unwatch(task: Task): void {
    this.#undo.get(task)?.();
    this.#undo.delete(task);
  }

  stop(): void {
    for (const undo of this.#undo.values()) undo();
    this.#undo.clear();
    this.#stale.clear();
    this.#undoReady?.();
  }
}
