// `troupe theater` and its kin as processes of their own.
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { remoteStage } from "../../src/bridges/theater/remote/remote-stage.ts";
import type { Stage } from "../../src/bridges/theater/stage.ts";
import { running, type Running } from "../cli/run.ts";
import { at } from "../wire.ts";
import { onLoopback } from "../on-loopback.ts";

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
export const textOf = (data: Uint8Array | undefined): string | undefined =>
  data === undefined ? undefined : new TextDecoder().decode(data);
export const base64 = (text: string): string => Buffer.from(text).toString("base64");

export const folder = (): Disposable & { readonly path: string; readonly data: string } => {
  const path = mkdtempSync(join(tmpdir(), "troupe-theater-"));
  return { path, data: join(path, "data"), [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
};

export interface Started extends Running {
  /** A field of the line that says it is ready. */
  address(name: string): string;
}

/** One command of `troupe` that serves, once it is ready. */
export const started = async (...args: readonly string[]): Promise<Started> => {
  const process = running(...args, "--json");
  await process.said(/"ready":true.*\n/);
  const line = `${process.out()}\n${process.err()}`.split("\n").find((one) => one.includes('"ready":true'));
  const ready: unknown = JSON.parse(line ?? "null");
  return { ...process, address: (name) => String(at(ready, name)), [Symbol.asyncDispose]: () => process[Symbol.asyncDispose]() };
};

/** `troupe theater` with the guests of the examples, on a free port. */
export const theater = (data: string, ...more: readonly string[]): Promise<Started> =>
  started(
    "theater",
    ...more,
    ...(more.includes("--address") ? [] : ["--address", "127.0.0.1:0"]),
    "--manifests",
    "examples/wasm",
    "--data",
    data,
  );

/** A client of Theater's protocol. */
export const clientOf = (server: Started): Stage => remoteStage({ port: Number(new URL(server.address("theaterTcp")).port) });

/** One that nobody listened at just now. */
export const freePort = async (): Promise<number> => {
  await using loopback = await onLoopback(createServer());
  return loopback.port;
};
