// Figures that are kept: bench/baseline.json, and what `--json` writes. By bench, then by row.
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

/** What table.ts sends. */
export const parseSent = (message: unknown): { readonly row?: string; readonly summary?: Summary; readonly note?: string } =>
  sent.parse(message);

/** A file that is not there has none. */
export const readFigures = (file: string): Figures => (existsSync(file) ? figures.parse(JSON.parse(readFileSync(file, "utf8"))) : {});

/** A bench that ran again has only its new rows; others stay. */
export const merged = (kept: Figures, ran: Figures): Figures => ({ ...kept, ...ran });

/** Four digits that count: more are the machine's noise, and only make a difference of two files hard to read. */
const rounded = (_key: string, value: unknown): unknown => (typeof value === "number" ? Number(value.toPrecision(4)) : value);

export const writeFigures = (file: string, all: Figures): void => writeFileSync(file, `${JSON.stringify(all, rounded, 2)}\n`);
