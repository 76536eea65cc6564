// Owns: a graph of causes as its views need it: steps in order, each after its cause, and the actors they are on.
import type { CauseGraph, CauseNode } from "../../../../src/bridges/console/shapes.ts";
import { readable } from "../../ui/actor-link.tsx";
import { whoText } from "../../ui/who.tsx";

/** One event, or one dead letter, and what led to it. */
export interface Step {
  readonly id: string;
  readonly node: CauseNode;
  readonly parent: Step | undefined;
  readonly children: readonly Step[];
  /** From the cause to this. */
  readonly waitedMs: number;
  /** Since the start of the root. */
  readonly fromMs: number;
  readonly toMs: number;
  /** `tools/report`. */
  readonly title: string;
  /** Where it happened, or should have. */
  readonly actor: string;
}

export interface Causes {
  /** By time; each after its cause. */
  readonly steps: readonly Step[];
  readonly byId: ReadonlyMap<string, Step>;
  readonly root: Step;
  readonly of: Step;
  /** In the order in which they come in. */
  readonly actors: readonly string[];
  readonly letters: readonly Step[];
  readonly spanMs: number;
  readonly cut: boolean;
}

type Open = { -readonly [K in keyof Step]: Step[K] } & { readonly children: Step[] };

/** Undefined: the server sent no root. */
export function causesOf({ nodes, edges, root: rootId, of: ofId, cut }: CauseGraph): Causes | undefined {
  const byId = new Map<string, Open>();
  for (const node of nodes)
    byId.set(node.id, {
      id: node.id,
      node,
      parent: undefined,
      children: [],
      waitedMs: 0,
      fromMs: 0,
      toMs: 0,
      title: node.letter?.action ?? node.type,
      actor: node.letter?.to ?? node.actor,
    });
  for (const { from, to, waitedMs } of edges) {
    const parent = byId.get(from);
    const child = byId.get(to);
    if (parent === undefined || child === undefined || child.parent !== undefined || parent === child) continue;
    child.parent = parent;
    child.waitedMs = waitedMs;
    parent.children.push(child);
  }
  const root = byId.get(rootId);
  if (root === undefined) return undefined;
  const steps: Step[] = [];
  const seen = new Set<Open>([root]);
  // Clocks of nodes differ: nothing is drawn before its cause.
  for (const step of seen) {
    step.fromMs = Math.max(step.parent?.fromMs ?? 0, step.node.at - root.node.at);
    step.toMs = step.fromMs + (step.node.ms ?? 0);
    steps.push(step);
    for (const child of step.children) {
      const next = byId.get(child.id);
      if (next !== undefined) seen.add(next);
    }
  }
  const ordered = steps.toSorted((a, b) => a.fromMs - b.fromMs);
  return {
    steps: ordered,
    byId,
    root,
    of: byId.get(ofId) ?? root,
    actors: [...new Set(ordered.map(({ actor }) => actor))],
    letters: ordered.filter(({ node }) => node.letter !== undefined),
    spanMs: Math.max(...ordered.map(({ toMs }) => toMs)),
    cut,
  };
}

/** `tool call report`, `message notify`. */
export function titleText(type: string): string {
  const [list, name] = type.split("/", 2);
  if (name === undefined) return type;
  const words: Readonly<Record<string, string>> = {
    tools: "tool call",
    resources: "read of",
    prompts: "prompt",
    messages: "message",
    troupe: "",
  };
  return `${words[list ?? ""] ?? list ?? ""} ${name}`.trim();
}

/** For screen readers. */
export function stepText({ title, actor, node, fromMs, parent }: Step): string {
  const why = node.letter === undefined ? "" : `, dead letter: ${node.letter.why}`;
  const cause = parent === undefined ? `, by ${whoText(node)}` : `, caused by ${parent.title} on ${readable(parent.actor)}`;
  return `${title} on ${readable(actor)}${cause}, ${offset(fromMs)}${why}`;
}

/** `+12 ms`, since the start. */
export function offset(ms: number): string {
  if (ms < 1_000) return `+${Math.round(ms)} ms`;
  if (ms < 60_000) return `+${(ms / 1_000).toFixed(1)} s`;
  if (ms < 3_600_000) return `+${(ms / 60_000).toFixed(1)} min`;
  return `+${(ms / 3_600_000).toFixed(1)} h`;
}

/** The steps from the root to one. */
export function pathTo(step: Step | undefined): ReadonlySet<string> {
  const ids = new Set<string>();
  for (let at = step; at !== undefined && !ids.has(at.id); at = at.parent) ids.add(at.id);
  return ids;
}
