// Owns: what can be done to an actor as a whole: stop, restart, fork. Does not own: reverting it (its history).
import { useSignal } from "@preact/signals";
import { useLocation } from "wouter-preact";
import type { ActorDetail } from "../../../../src/bridges/console/shapes.ts";
import { can } from "../../about.ts";
import { actorPath, asApiError, post } from "../../api.ts";
import { readable } from "../../ui/actor-link.tsx";
import { confirm, type Question } from "../../ui/confirm.tsx";
import { toast } from "../../ui/toasts.tsx";

export function Operations({ actor, reload }: { readonly actor: ActorDetail; readonly reload: () => void }) {
  const { id, kind, key, status, seq, childCount, persistence } = actor;
  const [, navigate] = useLocation();
  const running = useSignal(false);
  const name = readable(id);

  const ask = async (question: Question, operation: (given: string) => Promise<string>): Promise<void> => {
    const given = await confirm(question);
    if (given === undefined) return;
    running.value = true;
    try {
      toast(await operation(given));
    } catch (error) {
      toast(asApiError(error).message, "failed");
    }
    running.value = false;
    reload();
  };

  const stop = (): Promise<void> =>
    ask(
      {
        title: `Stop ${name}?`,
        text: `It ends${childCount === 0 ? "" : `, and its ${childCount === 1 ? "child" : `${childCount} children`} with it`}. Its history stays.`,
        action: "Stop it",
        danger: true,
        input: { label: "Reason, for its last event", required: true },
      },
      async (reason) => {
        await post(`${actorPath(id)}/stop`, { reason });
        return `${name} has stopped.`;
      },
    );

  const restart = (): Promise<void> =>
    ask(
      {
        title: `Restart ${name}?`,
        text: "It is dropped from memory, and its failure is cleared. Its state stays.",
        action: "Restart it",
      },
      async () => {
        await post(`${actorPath(id)}/restart`);
        return `${name} was restarted.`;
      },
    );

  const fork = (): Promise<void> =>
    ask(
      {
        title: `Fork ${name} at event ${seq}?`,
        text: "The fork is a copy with the same history. What it sends by itself is recorded, not delivered.",
        action: "Fork it",
        input: { label: `Key of the new ${kind}`, value: `${key}-fork`, required: true },
      },
      async (newKey) => {
        const to = `${kind}/${encodeURIComponent(newKey)}`;
        await post(`${actorPath(id)}/fork`, { to, at: seq });
        navigate(`/actors/${to}`);
        return `${readable(to)} is a fork of ${name}.`;
      },
    );

  if (!can("run")) return null;
  return (
    <div class="row" role="group" aria-label={`Operations on ${name}`}>
      <button type="button" disabled={running.value || status === "stopped"} onClick={() => void restart()}>
        Restart
      </button>
      {can("rewrite") && persistence !== "memory" ? (
        <button type="button" disabled={running.value} onClick={() => void fork()}>
          Fork
        </button>
      ) : null}
      <button type="button" class="danger" disabled={running.value || status === "stopped"} onClick={() => void stop()}>
        Stop
      </button>
    </div>
  );
}
