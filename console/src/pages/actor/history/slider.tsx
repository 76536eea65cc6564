// Owns: moving through all events of an actor: slider, wheel, steps and playing. Does not own: what is shown of one (moment.tsx).
import { useEffect, useRef, useState } from "preact/hooks";
import type { ActorDetail } from "../../../../../src/bridges/console/shapes.ts";
import { StepIcon } from "../../../ui/step-icon.tsx";
import { Time } from "../../../ui/time.tsx";
import type { MomentState } from "./moment-state.ts";

const SPEEDS = [1, 4, 16] as const;
const STEP_MS = 900;

export function Slider({ actor, moment }: { readonly actor: ActorDetail; readonly moment: MomentState }) {
  const { seq, createdAt, lastEventAt = actor.lastMessageAt } = actor;
  const { at, set } = moment;
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState<number>(1);
  const range = useRef<HTMLInputElement>(null);
  const latest = useRef({ at, set, seq });
  latest.current = { at, set, seq };

  useEffect(() => {
    if (!playing) return undefined;
    const timer = setInterval(() => {
      const now = latest.current;
      if (now.at >= now.seq) setPlaying(false);
      else now.set(now.at + 1);
    }, STEP_MS / speed);
    return () => clearInterval(timer);
  }, [playing, speed]);

  // Not passive, so that the page does not scroll as well.
  useEffect(() => {
    const element = range.current;
    if (element === null) return undefined;
    const onWheel = (event: WheelEvent): void => {
      const by = Math.sign(Math.abs(event.deltaX) > Math.abs(event.deltaY) ? event.deltaX : event.deltaY);
      if (by === 0) return;
      event.preventDefault();
      latest.current.set(latest.current.at + by);
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, []);

  const play = (): void => {
    if (!playing && at >= seq) set(1);
    setPlaying(!playing);
  };
  const step = (to: number): void => {
    setPlaying(false);
    set(to);
  };
  return (
    <section class="slider" aria-label="Time slider">
      <div class="row">
        <span class="buttons" role="group" aria-label="Steps">
          <button type="button" onClick={() => step(1)} disabled={at <= 1} aria-label="First event" title="First event">
            <StepIcon to="first" />
          </button>
          <button type="button" onClick={() => step(at - 1)} disabled={at <= 1} aria-label="Previous event" title="Previous event">
            <StepIcon to="previous" />
          </button>
          <button type="button" class="play" onClick={play} aria-pressed={playing} disabled={seq < 2}>
            {playing ? "Pause" : "Play"}
          </button>
          <button type="button" onClick={() => step(at + 1)} disabled={at >= seq} aria-label="Next event" title="Next event">
            <StepIcon to="next" />
          </button>
          <button type="button" onClick={() => step(seq)} disabled={at >= seq} aria-label="Newest event" title="Newest event">
            <StepIcon to="last" />
          </button>
        </span>
        <label class="speed">
          <span class="visually-hidden">Speed</span>
          <select value={String(speed)} disabled={seq < 2} onChange={(event) => setSpeed(Number(event.currentTarget.value))}>
            {SPEEDS.map((one) => (
              <option key={one} value={String(one)}>
                {one}×
              </option>
            ))}
          </select>
        </label>
        <span class="position">
          Event <strong>{at.toLocaleString()}</strong> of {seq.toLocaleString()}
        </span>
        {moment.following ? <span class="badge good">now</span> : <span class="badge warning">in the past</span>}
      </div>
      <input
        ref={range}
        type="range"
        min={1}
        max={seq}
        step={1}
        value={at}
        disabled={seq < 2}
        aria-label="Event"
        aria-valuetext={`Event ${at} of ${seq}`}
        onInput={(event) => {
          setPlaying(false);
          set(Number(event.currentTarget.value));
        }}
      />
      <div class="ends dim">
        <Time at={createdAt} />
        <span class="wide hint">Arrow keys and the wheel move by one event, Page Up and Page Down by more.</span>
        <Time at={lastEventAt} />
      </div>
    </section>
  );
}
