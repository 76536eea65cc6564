// The part of Playwright's types that the tests use: it is installed separately, so its own types may be missing at type checks.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { executable, install } from "./chromium.ts";

/** Looked up at each use; each use waits until exactly one element can be acted on. */
export interface Locator {
  click(options?: { readonly modifiers?: readonly ("Shift" | "Control" | "Alt" | "Meta")[]; readonly force?: boolean }): Promise<void>;
  hover(): Promise<void>;
  focus(): Promise<void>;
  fill(value: string): Promise<void>;
  press(key: string): Promise<void>;
  check(): Promise<void>;
  uncheck(): Promise<void>;
  setInputFiles(file: { readonly name: string; readonly mimeType: string; readonly buffer: Buffer }): Promise<void>;
  selectOption(value: string): Promise<readonly string[]>;
  dragTo(target: Locator): Promise<void>;
  waitFor(options?: { readonly state?: "attached" | "detached" | "visible" | "hidden" }): Promise<void>;
  scrollIntoViewIfNeeded(): Promise<void>;
  innerText(): Promise<string>;
  textContent(): Promise<string | null>;
  inputValue(): Promise<string>;
  allInnerTexts(): Promise<readonly string[]>;
  getAttribute(name: string): Promise<string | null>;
  isVisible(): Promise<boolean>;
  isEnabled(): Promise<boolean>;
  isChecked(): Promise<boolean>;
  count(): Promise<number>;
  boundingBox(): Promise<{ readonly x: number; readonly y: number; readonly width: number; readonly height: number } | null>;
  first(): Locator;
  last(): Locator;
  nth(index: number): Locator;
  filter(options: { readonly hasText?: string | RegExp; readonly has?: Locator }): Locator;
  locator(selector: string): Locator;
  getByRole(role: string, options?: RoleOptions): Locator;
  getByText(text: string | RegExp, options?: { readonly exact?: boolean }): Locator;
  getByLabel(text: string | RegExp, options?: { readonly exact?: boolean }): Locator;
  screenshot(options: { readonly path: string }): Promise<unknown>;
}

interface RoleOptions {
  readonly name?: string | RegExp;
  readonly exact?: boolean;
  readonly expanded?: boolean;
  readonly selected?: boolean;
  readonly level?: number;
}

type Finds = Pick<Locator, "locator" | "getByRole" | "getByText" | "getByLabel">;

export interface Page extends Finds {
  /** The content of a frame. */
  frameLocator(selector: string): Finds;
  goto(url: string): Promise<unknown>;
  goBack(): Promise<unknown>;
  reload(): Promise<unknown>;
  url(): string;
  title(): Promise<string>;
  evaluate(expression: string): Promise<unknown>;
  waitForFunction(expression: string): Promise<unknown>;
  waitForURL(url: string | RegExp): Promise<void>;
  /** Intercepts requests for these addresses until the handler continues them. */
  route(url: RegExp, handler: (route: { continue(): Promise<void> }) => Promise<void>): Promise<unknown>;
  screenshot(options: { readonly path?: string; readonly fullPage?: boolean }): Promise<Buffer>;
  setViewportSize(size: { readonly width: number; readonly height: number }): Promise<void>;
  emulateMedia(media: { readonly colorScheme: "light" | "dark" }): Promise<void>;
  on(event: "pageerror", listener: (error: Error) => void): unknown;
  on(event: "console", listener: (message: { type(): string; text(): string }) => void): unknown;
  on(event: "request", listener: (request: { url(): string }) => void): unknown;
  on(event: "download", listener: (download: { suggestedFilename(): string; path(): Promise<string> }) => void): unknown;
  readonly keyboard: { press(key: string): Promise<void>; type(text: string): Promise<void> };
  readonly mouse: { move(x: number, y: number): Promise<void>; down(): Promise<void>; up(): Promise<void> };
}

export interface Tab {
  newPage(): Promise<Page>;
  setDefaultTimeout(ms: number): void;
  setOffline(offline: boolean): Promise<void>;
  grantPermissions(names: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

export interface Browser {
  newContext(options: {
    readonly viewport: { readonly width: number; readonly height: number };
    readonly colorScheme: "light" | "dark";
    readonly reducedMotion: "reduce" | "no-preference";
    readonly locale?: string;
    readonly timezoneId?: string;
  }): Promise<Tab>;
  close(): Promise<void>;
}

interface Playwright {
  readonly chromium: {
    launch(options: { readonly executablePath: string; readonly args: readonly string[]; readonly timeout: number }): Promise<Browser>;
  };
}

const requireHere = createRequire(import.meta.url);

const isPlaywright = (value: unknown): value is Playwright => typeof value === "object" && value !== null && "chromium" in value;

/** Installs what is missing, and starts the browser. */
export async function launchBrowser(): Promise<Browser> {
  await install();
  const playwright: unknown = requireHere("playwright-core");
  if (!isPlaywright(playwright)) throw new Error("playwright-core has no chromium");
  return await playwright.chromium.launch({
    executablePath: await executable(),
    args: ["--no-sandbox", "--disable-gpu", "--no-zygote"],
    // A busy machine needs a while.
    timeout: 120_000,
  });
}

/** The script that checks a page for accessibility. */
export const axeScript = (): string => readFileSync(requireHere.resolve("axe-core/axe.min.js"), "utf8");
