// Files of figures by bench and row: bench/baseline.json, and the output of `--json`.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import * as z from "zod";
import type { Summary } from "./row.ts";

export type Figures = Readonly<Record<string, Readonly<Record<string, Summary>>>>;

const summary = z.object({
  unit: z.enum(["µs", "ms", "bytes", "×", "/s"]),
  min: z.number(),
  median: z.number(),
  max: z.number(),
  limit: z.string().exactOptional(),
  ok: z.boolean().exactOptional(),
  floor: z.number().exactOptional(),
  spec: z.string().exactOptional(),
  cpuUs: z.number().exactOptional(),
});

const figures = z.record(z.string(), z.record(z.string(), summary));

const sent = z.object({ row: z.string().exactOptional(), summary: summary.exactOptional(), note: z.string().exactOptional() });

/** Parses a message from table.ts. */
export const parseSent = (message: unknown): { readonly row?: string; readonly summary?: Summary; readonly note?: string } =>
  sent.parse(message);

/** Returns no figures if the file does not exist. */
export const readFigures = (file: string): Figures => (existsSync(file) ? figures.parse(JSON.parse(readFileSync(file, "utf8"))) : {});

/** Replaces all rows of the benches that ran. */
export const merged = (stored: Figures, measured: Figures): Figures => ({ ...stored, ...measured });

/** Four significant digits. More would be noise, and make diffs of two files hard to read. */
const rounded = (_key: string, value: unknown): unknown => (typeof value === "number" ? Number(value.toPrecision(4)) : value);

export const writeFigures = (file: string, all: Figures): void => writeFileSync(file, `${JSON.stringify(all, rounded, 2)}\n`);
