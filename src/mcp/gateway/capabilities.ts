// Owns: what the server says about itself: its capabilities, name and instructions, as each revision knows them. Does not own: the offers.
import type { JsonObject, Catalogue, Json, Source, Surface, Viewer } from "../../core/contract/index.ts";
import { andThen } from "../../core/contract/internal.ts";
import type { ServerInfo, Settings } from "./options.ts";
import { has, LATEST_MODERN, type LegacyRevision, type Revision, TASKS } from "./revision.ts";
import { offersTasks } from "./tasks.ts";

/** The kinds of offers that are not empty. */
export interface Offered {
  readonly tools: boolean;
  readonly resources: boolean;
  readonly prompts: boolean;
  /** Whether the call of some tool may become a task. */
  readonly tasks: boolean;
}

/** For dialects that advertise every list. */
const EVERYTHING: Offered = { tools: true, resources: true, prompts: true, tasks: false };
export const WITH_TASKS: Offered = { ...EVERYTHING, tasks: true };

/** What the viewer could be offered. The surface is read only if the dialect depends on it. */
export function offeredTo({ dialect }: Settings, source: Source, viewer: Viewer): Offered | Promise<Offered> {
  const known = source.catalogue?.(viewer);
  if (dialect.capabilities === "all") return offersTasks(known) ? WITH_TASKS : EVERYTHING;
  if (known !== undefined) return kindsIn(known);
  return andThen(source.surface(viewer), ({ catalogue }: Surface) => kindsIn(catalogue));
}

function kindsIn(catalogue: Catalogue): Offered {
  const { tools, resources, prompts } = catalogue;
  return { tools: tools.length > 0, resources: resources.length > 0, prompts: prompts.length > 0, tasks: offersTasks(catalogue) };
}

/** The tasks of 2025-11-25: every request about them is served, and only calls of tools become tasks. */
const LEGACY_TASKS = { list: {}, cancel: {}, requests: { tools: { call: {} } } };

/** The server's capabilities in that revision. */
function capabilitiesOf({ dialect, extensions, tasks }: Settings, revision: Revision, offered: Offered): JsonObject {
  const all = tasks && offered.tasks ? { [TASKS]: {}, ...extensions } : extensions;
  const legacyTasks = tasks && offered.tasks && has(revision, "tasks") ? { tasks: LEGACY_TASKS } : undefined;
  const more = has(revision, "envelopes") && Object.keys(all).length > 0 ? { extensions: all } : undefined;
  if (dialect.capabilities === "all")
    return {
      // An empty list may change, so none is left out.
      tools: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      prompts: { listChanged: true },
      logging: {},
      ...(has(revision, "completionsCapability") ? { completions: {} } : undefined),
      ...legacyTasks,
      ...more,
    };
  return {
    ...(offered.tools || dialect.capabilities === "tools" ? { tools: {} } : undefined),
    ...(offered.resources ? { resources: {} } : undefined),
    ...(offered.prompts ? { prompts: {} } : undefined),
    ...legacyTasks,
    ...more,
  };
}

/** MCP's `Implementation`, as that revision knows it. */
export function shapeInfo(info: ServerInfo, revision: Revision): JsonObject {
  const shaped: Record<string, Json> = { name: info.name, version: info.version };
  if (info.title !== undefined && has(revision, "titles")) shaped["title"] = info.title;
  if (has(revision, "icons")) {
    if (info.description !== undefined) shaped["description"] = info.description;
    if (info.websiteUrl !== undefined) shaped["websiteUrl"] = info.websiteUrl;
    if (info.icons !== undefined) shaped["icons"] = info.icons;
  }
  return shaped;
}

/** The members of the result of `server/discover`. */
export function discoverMembers(settings: Settings, source: Source, viewer: Viewer): string | Promise<string> {
  return andThen(offeredTo(settings, source, viewer), (offered: Offered) =>
    membersOf({
      supportedVersions: settings.dialect.supported,
      capabilities: capabilitiesOf(settings, LATEST_MODERN, offered),
      ...instructionsOf(settings),
    }),
  );
}

/** The members of the result of `initialize`. */
export function initializeMembers(settings: Settings, revision: LegacyRevision, offered: Offered): string {
  return membersOf({
    protocolVersion: revision,
    capabilities: capabilitiesOf(settings, revision, offered),
    serverInfo: shapeInfo(settings.info, revision),
    ...instructionsOf(settings),
  });
}

const membersOf = (result: JsonObject): string => JSON.stringify(result).slice(1, -1);

function instructionsOf(settings: Settings): JsonObject | undefined {
  const instructions = settings.instructions();
  return instructions === undefined ? undefined : { instructions };
}
