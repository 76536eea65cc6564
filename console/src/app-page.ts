// Owns: what definitions and resources say of MCP Apps. Does not own: showing one (ui/app-frame.tsx).
import type { JsonObject } from "../../src/core/contract/index.ts";
import { isObject, listIn, objectIn, textIn } from "./json.ts";
import { APP_TYPE } from "./mcp/wire.ts";

/** A `ui://` resource as it was read. */
export interface AppPage {
  readonly uri: string;
  readonly html: string;
  /** `_meta.ui`: its policy, the permissions that it requests. */
  readonly ui: JsonObject;
}

const uiOf = (definition: JsonObject | undefined): JsonObject => objectIn(objectIn(definition, "_meta"), "ui");

/** The app that shows the results of a tool; servers of 2025 name it by another key. Undefined: it has none. */
export function appUriOf(tool: JsonObject | undefined): string | undefined {
  const uri = textIn(uiOf(tool), "resourceUri") ?? textIn(objectIn(tool, "_meta"), "ui/resourceUri");
  return uri?.startsWith("ui://") === true ? uri : undefined;
}

/** Whether a resource's definition is that of an app. */
export const isApp = (definition: JsonObject | undefined): boolean => textIn(definition, "mimeType") === APP_TYPE;

/** Whether apps may call this tool: some are for models only. */
export function mayAppCall(tool: JsonObject | undefined): boolean {
  const { visibility } = uiOf(tool);
  return !Array.isArray(visibility) || visibility.includes("app");
}

/** The app in the result of `resources/read`. `listed`: its definition in the list, which may say what the result does not. */
export function appPageIn(uri: string, result: JsonObject, listed: JsonObject | undefined): AppPage {
  const content = listIn(result, "contents").find(isApp);
  if (content === undefined) throw new Error(`${uri} is no app: its content must have the type ${APP_TYPE}.`);
  const { text, blob } = content;
  const ui = objectIn(content, "_meta")["ui"];
  return {
    uri,
    html: typeof text === "string" ? text : typeof blob === "string" ? decoded(blob) : "",
    ui: isObject(ui) ? ui : uiOf(listed),
  };
}

const decoded = (base64: string): string => new TextDecoder().decode(Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)));
