// Owns: what commands print: results as text or JSON lines, tables, colours, and text that is safe on a terminal. Does not own: the log
// (log.ts).
import { styleText } from "node:util";
import type { Json } from "../core/contract/index.ts";

/** The output of a command: text for people, or one JSON value per line for programs. */
export interface Output {
  readonly json: boolean;
  /** Prints a result: JSON for programs, text for people. */
  show(value: Json | object, text: () => string): void;
  /** Prints for programs only. */
  value(value: object): void;
  /** Prints for people only. */
  text(text: () => string): void;
  /** Prints progress and hints for people, on standard error. */
  note(text: string): void;
}

/** Applies colours if the terminal supports them and NO_COLOR is not set. */
export type Painter = (style: "bold" | "dim" | "green" | "red" | "yellow" | "cyan", text: string) => string;

const painter =
  (stream: NodeJS.WriteStream): Painter =>
  (style, text) =>
    styleText(style, text, { stream });

/** For the standard output. */
export const paint = painter(process.stdout);

/** For the standard error. */
export const paintError = painter(process.stderr);

let endFailed = (error: Error): never => {
  throw error;
};

/** Sets how a command ends if its result cannot be written. */
export const onWriteFailure = (end: (error: Error) => never): void => {
  endFailed = end;
};

/** A reader that stops early, as `head` does, is not a failure. A full disk is. */
const exitOnWriteError = (error: NodeJS.ErrnoException): void => {
  if (error.code !== "EPIPE") endFailed(error);
  process.exit(process.exitCode ?? 0);
};

let hasPrinted = false;

/** Prints a command's result to standard output. */
export const print = (text: string): void => {
  hasPrinted = true;
  if (!process.stdout.listeners("error").includes(exitOnWriteError)) process.stdout.on("error", exitOnWriteError);
  process.stdout.write(text);
};

/** Settles when a command's result is written: data that a slow pipe has not accepted would be lost at exit. */
export const outputFlushed = async (): Promise<void> => {
  if (hasPrinted) await new Promise<void>((left) => process.stdout.write("", () => left()));
};

/** Prints one line of the result. */
export const printLine = (line: string): void => print(`${line}\n`);

/** Ignores errors of writing to these streams from now on: their readers may have ended. */
export const ignoreWriteErrors = (...streams: readonly NodeJS.WriteStream[]): void => {
  for (const stream of streams) stream.on("error", () => undefined);
};

export const output = ({ json = false }: { readonly json?: boolean }): Output => ({
  json,
  show(value, text) {
    printLine(json ? JSON.stringify(value) : text());
  },
  value(value) {
    if (json) printLine(JSON.stringify(value));
  },
  text(text) {
    if (!json) printLine(text());
  },
  note(text) {
    if (!json) process.stderr.write(`${text}\n`);
  },
});

const escaped = (sign: string): string => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`;

/**
 * Escapes control characters and bidirectional marks in text that others wrote (states, arguments, replies, reasons), since a terminal would
 * obey them. Newlines and tabs stay.
 */
export const visible = (text: string): string => text.replace(/(?![\t\n])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, escaped);

/** The same, with newlines and tabs escaped. */
export const oneLine = (text: string): string => visible(text).replace(/[\t\n]/g, escaped);

/** A value as one short line. */
export const short = (value: unknown): string => {
  const text = JSON.stringify(value) ?? "";
  return visible(text.length > 100 ? `${text.slice(0, 99)}…` : text);
};

/** The text as one word of a shell. */
export const shellWord = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`);

/** A table whose columns are as wide as their widest cell; the last column is not padded. */
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string => {
  const cells = rows.map((row) => row.map(oneLine));
  const widths = head.map((cell, column) => cells.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), cell.length));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join("  ")
      .trimEnd();
  return [paint("dim", line(head)), ...cells.map(line)].join("\n");
};

/** The line on standard error that reports a failure. */
export const failureLine = (json: boolean | undefined, code: string, message: string): string =>
  json === true ? JSON.stringify({ error: { code, message } }) : `troupe: ${visible(message)}`;

/** The standard output, reserved for the command's own results. */
export interface RedirectedStdout {
  print(text: string): void;
  /** Ends the redirection. */
  release(): void;
}

/**
 * Redirects what modules print to standard error: on standard output a client or a script reads the command's own lines.
 */
export const redirectStdout = (): RedirectedStdout => {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  return {
    print: (text) => void write(text),
    release: () => {
      stdout.write = write;
    },
  };
};

/** The value if it is a text, or else the fallback. */
export const textOrElse = (value: Json | undefined, otherwise: string): string => (typeof value === "string" ? value : otherwise);
