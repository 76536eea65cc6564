import type { Bag, Caller, Channel, Json, ListName, Source } from "../../contract/index.ts";
import { Audience, type AudienceHost } from "../audience.ts";
import { viewerOf, type Core } from "../core.ts";
import { Fault, inLog } from "../errors.ts";
import { bagIn, isArray } from "../json.ts";
import { notificationText, type Request, type RequestId } from "../json-rpc.ts";
import type { Target } from "../offers.ts";
import { modernReply, wholeText } from "../reply.ts";
import { subscribable } from "../subscribable.ts";
import { SUBSCRIPTION_META } from "./envelope.ts";
import { postureOf } from "./perform.ts";
import { serverMeta } from "./server-meta.ts";

const FILTERS = [
  ["toolsListChanged", "tools"],
  ["promptsListChanged", "prompts"],
  ["resourcesListChanged", "resources"],
] as const;

/** One open `subscriptions/listen`: acknowledged first, then notices of what was asked for and of nothing else (C8). */
export interface Listen {
  readonly id: RequestId;
  readonly audience: Audience;
  /** Gracefully: the request gets its result. */
  readonly finish: () => void;
  /** The client cancelled or is gone. */
  readonly cancel: () => void;
}

export interface ListenOptions {
  readonly request: Request;
  readonly caller: Caller;
  readonly source: Source;
  /** Made once everything about the request is known to be right. */
  readonly open: () => Channel;
  readonly ended: (listen: Listen) => void;
}

/** Throws a `Fault` before anything is sent. */
export async function listen(core: Core, { request, caller, source, open, ended }: ListenOptions): Promise<Listen> {
  core.admit();
  core.limit(caller);
  if (core.open.size >= core.settings.limits.listens) throw new Fault("BUSY", "Too many streams are open; close one first.");
  const filter = bagIn(request.params, "notifications");
  if (filter === undefined) throw new Fault("PARAMS", "subscriptions/listen needs notifications: what to be told of.");
  const wanted = FILTERS.filter(([member]) => filter[member] === true);
  const uris = await honoured(core, filter, caller, source);
  let channel: Channel | undefined;
  const tell = (method: string, params: Bag): void =>
    channel?.send(notificationText(method, { _meta: { [SUBSCRIPTION_META]: request.id }, ...params }));
  const host: AudienceHost = {
    source,
    posture: postureOf(core, caller),
    wanted: wanted.map(([, list]): ListName => list),
    log: core.settings.log,
    listChanged: (list) => tell(`notifications/${list}/list_changed`, {}),
    updated: (uri) => tell("notifications/resources/updated", { uri }),
  };
  const audience = new Audience(host, viewerOf(caller, undefined));
  for (const [uri, target] of uris) audience.subscribe(uri, target);
  // Whoever acts after the acknowledgement is told: what a change is told from is known before it.
  await audience.listen();
  try {
    channel = open();
  } catch (error) {
    audience.stop();
    throw error;
  }
  let over = false;
  const end = (): void => {
    if (over) return;
    over = true;
    audience.stop();
    core.open.delete(made.finish);
    ended(made);
  };
  const made: Listen = {
    id: request.id,
    audience,
    finish: () => {
      const meta = { [SUBSCRIPTION_META]: request.id, ...serverMeta(core) };
      if (!over) channel?.send(wholeText(modernReply(request.id, { members: "" }, "complete", "", meta)));
      end();
    },
    cancel: end,
  };
  core.open.add(made.finish);
  tell("notifications/subscriptions/acknowledged", {
    notifications: {
      ...Object.fromEntries(wanted.map(([member]) => [member, true])),
      ...(filter["resourceSubscriptions"] === undefined ? undefined : { resourceSubscriptions: [...uris.keys()] }),
    },
  });
  audience.start(channel).catch((error: unknown) => core.settings.log("error", { event: "listen-failed", ...inLog(error) }));
  return made;
}

// Of the URIs asked for, those this viewer can see: the others are left out of the acknowledgement as if they never were.
async function honoured(core: Core, filter: Bag, caller: Caller, source: Source): Promise<Map<string, Target>> {
  const asked: Json | undefined = filter["resourceSubscriptions"];
  const found = new Map<string, Target>();
  if (asked === undefined) return found;
  const { subscriptions: most } = core.settings.limits;
  if (!isArray(asked) || asked.length > most) throw new Fault("PARAMS", `resourceSubscriptions is a list of at most ${most} URIs.`);
  if (asked.length === 0) return found;
  const viewer = viewerOf(caller, undefined);
  const surface = await source.surface(viewer);
  const uris = asked.filter((uri) => typeof uri === "string");
  const targets = await Promise.all(uris.map((uri) => subscribable(source, viewer, surface, uri)));
  for (const [index, uri] of uris.entries()) {
    const target = targets[index];
    if (target !== undefined) found.set(uri, target);
  }
  return found;
}
