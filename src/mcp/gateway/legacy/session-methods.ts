// Owns: the methods that only sessions have, and the changes of a session's row that they make. Does not own: requests about tasks
// (session-tasks.ts).
import { changedSession, type SessionChange } from "../../../core/contract/index.ts";
import { MAX_URI } from "../../../core/contract/internal.ts";
import { discoverMembers, initializeMembers, offeredTo } from "../capabilities.ts";
import { type Core, type Members, methodNotFound } from "../core.ts";
import { Fault } from "../errors.ts";
import { type Request, shortText } from "../json-rpc.ts";
import { subscribable } from "../offers.ts";
import { isLogLevel } from "../out-of-band.ts";
import type { Session } from "./session.ts";
import type { SessionRequest } from "./session-request.ts";
import { performTaskRequest } from "./session-tasks.ts";

type SessionMethod = (request: SessionRequest) => Members | Promise<Members>;

const NOTHING: Members = { members: "" };

const METHODS: Readonly<Record<string, SessionMethod>> = {
  ping: () => NOTHING,
  "tasks/get": performTaskRequest,
  "tasks/result": performTaskRequest,
  "tasks/list": performTaskRequest,
  "tasks/cancel": performTaskRequest,
  async initialize({ core, session, origin }) {
    // A batch may begin with it, in a session that began with the batch.
    if (core.settings.dialect.batches !== "all") throw new Fault("INVALID_REQUEST", "This session is initialized already.");
    const offered = await offeredTo(core.settings, session.source, session.viewerFor(origin.caller));
    return { members: initializeMembers(core.settings, session.revision, offered) };
  },
  async "server/discover"({ core, session, request, origin }) {
    if (!core.settings.dialect.discoversInSessions) throw methodNotFound(request.method);
    return { members: await discoverMembers(core.settings, session.source, session.viewerFor(origin.caller)), meta: core.serverMeta };
  },
  async "logging/setLevel"({ core, session, request }) {
    const { level } = request.params;
    if (!isLogLevel(level))
      throw new Fault("PARAMS", "The level is one of debug, info, notice, warning, error, critical, alert, emergency.");
    await changeRow(core, session, { logLevel: level });
    return NOTHING;
  },
  async "resources/subscribe"({ core, session, request, origin }) {
    const uri = uriOf(request);
    const { source } = session;
    const viewer = session.viewerFor(origin.caller);
    const target = await subscribable(source, viewer, await source.surface(viewer), uri);
    if (target === undefined) throw new Fault("RESOURCE_NOT_FOUND", "Resource not found", { data: { uri } });
    if (isSubscribed(session, uri) === true) return NOTHING;
    checkSubscriptions(core, [...session.row.subscriptions, uri]);
    session.subscriptionsFor(origin.caller).subscribe(uri, target);
    await changeRow(core, session, { subscribe: uri });
    return NOTHING;
  },
  async "resources/unsubscribe"({ core, session, request }) {
    const uri = uriOf(request);
    session.subscriptions?.unsubscribe(uri);
    if (isSubscribed(session, uri) !== false) await changeRow(core, session, { unsubscribe: uri });
    return NOTHING;
  },
};

const limited =
  (method: SessionMethod): SessionMethod =>
  (one) => {
    const { core, session, request, origin } = one;
    core.limit(origin.caller, session.viewerFor(origin.caller));
    if (core.settings.dialect.withholds.includes(request.method)) throw methodNotFound(request.method);
    return method(one);
  };

export const SESSION_METHODS: ReadonlyMap<string, SessionMethod> = new Map(
  Object.entries(METHODS).map(([name, method]) => [name, limited(method)]),
);

// Their length counts as well, since some stores write the whole session with each of them.
function checkSubscriptions({ settings }: Core, uris: readonly string[]): void {
  const { subscriptions: most, subscriptionLength: longest } = settings.limits;
  if (uris.length > most) throw new Fault("BUSY", `A session may subscribe to ${most} resources; unsubscribe from some first.`);
  if (uris.reduce((sum, { length }) => sum + length, 0) > longest)
    throw new Fault("BUSY", `The URIs a session subscribes to may have ${longest} characters in all; unsubscribe from some first.`);
}

// Undefined: another node may have changed that a moment ago.
function isSubscribed({ nodes, row }: Session, uri: string): boolean | undefined {
  return nodes === undefined ? row.subscriptions.includes(uri) : undefined;
}

// A connection's session ends with it; only one that a client can come back to is stored.
async function changeRow(core: Core, session: Session, change: SessionChange): Promise<void> {
  if (session.nodes !== undefined) return session.nodes.rows.change(session, change);
  const before = session.row;
  const changed = changedSession(before, change);
  if (changed === before) return;
  session.row = changed;
  // To write a session that its client has ended would restore it.
  if (!session.stored || session.closed) return;
  const { sessions } = core.settings;
  if (sessions.change === undefined) return sessions.put(changed);
  // Not `put`: the row may be long, and a short request must not cause all of it to be written.
  try {
    await sessions.change(changed.id, change);
  } catch (error) {
    // The client will try again, and this change must be written andThen, since later changes do not include it.
    if (session.row === changed) session.row = before;
    throw error;
  }
}

function uriOf(request: Request): string {
  const uri = shortText(request.params["uri"], MAX_URI);
  if (uri === undefined) throw new Fault("PARAMS", `${request.method} needs a uri: text of 1 to ${MAX_URI} characters.`);
  return uri;
}
