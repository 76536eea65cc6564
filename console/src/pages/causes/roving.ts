// Owns: moving a selection through steps with the arrow keys; one of them is in the order of the Tab key.
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Step } from "./model.ts";

export function useRoving(steps: readonly Step[], selected: string, select: (id: string) => void) {
  const box = useRef<HTMLDivElement>(null);
  const move = useRef(false);
  // Not after the paint: the effect of the last step would then take the move of the next key.
  useLayoutEffect(() => {
    const element = box.current?.querySelector(`[data-step="${CSS.escape(selected)}"]`);
    if (!(element instanceof HTMLElement || element instanceof SVGElement)) return;
    if (move.current) element.focus();
    move.current = false;
    element.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [selected]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const at = steps.findIndex(({ id }) => id === selected);
    const last = steps.length - 1;
    const next = { ArrowDown: Math.min(at + 1, last), ArrowUp: Math.max(at - 1, 0), Home: 0, End: last }[event.key];
    const step = next === undefined ? undefined : steps[next];
    if (step === undefined) return;
    event.preventDefault();
    move.current = true;
    select(step.id);
  };
  return { box, onKeyDown };
}
