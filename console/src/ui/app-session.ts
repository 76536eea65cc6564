// Owns: what is known of an app that runs in a frame of this page: its status, its messages, what was blocked; and the questions to the
// user. Does not own: the protocol (mcp/app-host.ts), the frame (app-frame.tsx).
import { signal } from "@preact/signals";
import type { JsonObject } from "../../../src/core/contract/index.ts";
import { listIn, textIn } from "../json.ts";
import { type AppCall, AppHost, type AppServer, type DisplayMode } from "../mcp/app-host.ts";
import { isDark } from "../theme.ts";
import { confirm, isConfirming } from "./confirm.tsx";
import { cut } from "./cut.ts";
import { toast } from "./toasts.tsx";

const MIN_HEIGHT = 60;
const MAX_HEIGHT = 700;
const MAX_MESSAGES = 200;
const MAX_BLOCKED = 50;

/** One message, as it is shown. */
export interface AppMessage {
  readonly n: number;
  readonly from: "app" | "host";
  readonly method: string;
  readonly content: JsonObject;
}

interface Blocked {
  readonly directive: string;
  readonly uri: string;
}

type FrameElement = HTMLIFrameElement | null;

export class AppSession {
  readonly status = signal<"starting" | "connected" | "stopped">("starting");
  /** Why it was stopped. */
  readonly reason = signal("");
  readonly mode = signal<DisplayMode>("inline");
  /** Of the frame, in pixels. */
  readonly height = signal(200);
  readonly blocked = signal<readonly Blocked[]>([]);
  readonly messages = signal<readonly AppMessage[]>([]);
  /** What it added to the model's context. */
  readonly modelContext = signal<JsonObject | undefined>(undefined);
  readonly host: AppHost;
  readonly #frame: () => FrameElement;
  #count = 0;

  constructor(server: AppServer, call: AppCall | undefined, frame: () => FrameElement) {
    this.#frame = frame;
    this.host = new AppHost(server, call, {
      // The frame's origin is opaque, so it cannot be named.
      send: (message) => frame()?.contentWindow?.postMessage(message, "*"),
      context: () => this.#context(),
      onMessage: (from, method, content) => {
        this.#count += 1;
        this.messages.value = [...this.messages.value.slice(1 - MAX_MESSAGES), { n: this.#count, from, method, content }];
      },
      onReady: () => (this.status.value = "connected"),
      onSize: (height) => (this.height.value = Math.min(Math.max(Math.ceil(height), MIN_HEIGHT), MAX_HEIGHT)),
      onMode: (wanted) => (this.mode.value = wanted === "fullscreen" ? "fullscreen" : "inline"),
      onBlocked: (directive, uri) => this.#block({ directive, uri }),
      onStop: (why) => {
        this.status.value = "stopped";
        this.reason.value = why;
        this.mode.value = "inline";
      },
      onModelContext: (content) => (this.modelContext.value = content),
      openLink,
      sendMessage,
    });
  }

  /** What arrives at this page; only that of the frame is the app's. */
  receive({ source, origin, data }: MessageEvent<unknown>): void {
    if (origin === "null" && source !== null && source === this.#frame()?.contentWindow) this.host.receive(data);
  }

  /** The theme, the mode or the size is another. */
  contextChanged(): void {
    this.host.contextChanged(this.#context());
  }

  #block(one: Blocked): void {
    const known = this.blocked.value;
    const isKnown = known.some(({ directive, uri }) => directive === one.directive && uri === one.uri);
    if (!isKnown && known.length < MAX_BLOCKED) this.blocked.value = [...known, one];
  }

  #context(): JsonObject {
    const style = getComputedStyle(document.documentElement);
    const variables = Object.entries(VARIABLES).map(([name, own]) => [name, style.getPropertyValue(own).trim()]);
    const { clientWidth: width = 0, clientHeight: height = 0 } = this.#frame() ?? {};
    const displayMode = this.mode.peek();
    return {
      theme: isDark.peek() ? "dark" : "light",
      styles: { variables: Object.fromEntries(variables) },
      displayMode,
      availableDisplayModes: ["inline", "fullscreen"],
      containerDimensions: displayMode === "inline" ? { width, maxHeight: MAX_HEIGHT } : { width, height },
      locale: navigator.language,
      timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      userAgent: "troupe-console",
      platform: "web",
    };
  }
}

/** Names of the specification → this page's. Values are `light-dark(…)`, which follows the app's own `color-scheme`. */
const VARIABLES: Readonly<Record<string, string>> = {
  "--color-background-primary": "--back",
  "--color-background-secondary": "--panel",
  "--color-background-tertiary": "--raised",
  "--color-background-success": "--good-back",
  "--color-background-danger": "--bad-back",
  "--color-background-warning": "--warning-back",
  "--color-text-primary": "--text",
  "--color-text-secondary": "--dim",
  "--color-text-info": "--accent",
  "--color-text-success": "--good",
  "--color-text-danger": "--bad",
  "--color-text-warning": "--warning",
  "--color-border-primary": "--line",
  "--color-ring-primary": "--accent",
  "--font-sans": "--font",
  "--font-mono": "--mono",
  "--border-radius-md": "--radius",
};

const SHOWN = 500;

/** Whether the user agrees. A question of this page is never replaced by an app's. */
const agrees = async (title: string, text: string, action: string): Promise<boolean> =>
  !isConfirming() && (await confirm({ title, text: cut(text, SHOWN), action })) !== undefined;

async function openLink(url: string): Promise<boolean> {
  if (!(await agrees("Open a link?", `The app wants to open ${url}`, "Open"))) return false;
  window.open(url, "_blank", "noopener,noreferrer");
  return true;
}

async function sendMessage(params: JsonObject): Promise<boolean> {
  const texts = listIn(params, "content").map((block) => textIn(block, "text") ?? `[${textIn(block, "type") ?? "content"}]`);
  if (!(await agrees("Send a message to the model?", texts.join("\n"), "Send"))) return false;
  toast("The console has no model: the message is only among the app's messages.");
  return true;
}
