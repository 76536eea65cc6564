// Owns: which event of a history is looked at. It is in the address, as `at`; absent: the newest one, and those that follow.
import { useEffect, useRef, useState } from "preact/hooks";
import { useParameter } from "../../../page-state.ts";

export interface MomentState {
  /** At once, while the slider moves. */
  readonly at: number;
  /** A little later: what is loaded. */
  readonly settled: number;
  /** It stays at the newest event. */
  readonly following: boolean;
  readonly set: (at: number) => void;
}

/** Browsers allow few changes of the address in a short time, and each step of a slider is no request. */
const ADDRESS_MS = 300;
const LOAD_MS = 60;

export function useMoment(newest: number): MomentState {
  const [parameter, setParameter] = useParameter("at");
  const given = numberIn(parameter, newest);
  const [chosen, setChosen] = useState(given);
  const [settled, setSettled] = useState(given ?? newest);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  // A link led to another event while the page was open.
  useEffect(() => setChosen(given), [given]);
  const at = Math.min(chosen ?? newest, newest);
  useEffect(() => {
    const waiting = setTimeout(() => setSettled(at), LOAD_MS);
    return () => clearTimeout(waiting);
  }, [at]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const set = (next: number): void => {
    const within = Math.max(1, Math.min(newest, Math.round(next)));
    setChosen(within === newest ? undefined : within);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setParameter(within === newest ? "" : String(within)), ADDRESS_MS);
  };
  return { at, settled: Math.min(settled, newest), following: chosen === undefined, set };
}

function numberIn(text: string, newest: number): number | undefined {
  const value = Number(text);
  return text !== "" && Number.isSafeInteger(value) && value >= 1 && value < newest ? value : undefined;
}
