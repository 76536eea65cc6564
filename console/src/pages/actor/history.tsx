// Owns: the history of an actor: its events, and its state at any of them. Does not own: what each part shows (history/).
import { useRef, useState } from "preact/hooks";
import type { StateDiff } from "../../../../src/bridges/console/shapes.ts";
import { changeOf } from "../../chain-api.ts";
import { useResource } from "../../resource.ts";
import { Empty } from "../../ui/states.tsx";
import { EventList } from "./history/event-list.tsx";
import { Integrity } from "./history/integrity.tsx";
import { Moment } from "./history/moment.tsx";
import { useMoment } from "./history/moment-state.ts";
import { Rerun } from "./history/rerun.tsx";
import { Slider } from "./history/slider.tsx";
import type { ActorTabProps } from "./tabs.ts";
import "./history/history.css";

export function HistoryTab({ actor, reload }: ActorTabProps) {
  const { id, seq } = actor;
  const moment = useMoment(seq);
  const at = moment.settled;
  // An event that was written here is shown at once.
  const [written, setWritten] = useState(0);
  const change = useResource<StateDiff>(`change ${id} ${at}`, async (signal) => await changeOf(id, at, signal));
  const parts = useRef<HTMLDivElement>(null);
  // In a narrow window the details are below the list, which may fill the window.
  const openFromList = (next: number): void => {
    moment.set(next);
    const [list, details] = parts.current?.children ?? [];
    if (list instanceof HTMLElement && details instanceof HTMLElement && details.offsetLeft === list.offsetLeft)
      details.scrollIntoView({ block: "start" });
  };
  if (seq === 0) return <Empty title="No events yet">Events appear when the actor has handled its first message.</Empty>;
  return (
    <div class="history">
      <Integrity actor={actor} open={moment.set} />
      <Slider actor={actor} moment={moment} />
      <div class="split" ref={parts}>
        <EventList actor={actor} written={written} at={moment.at} settled={at} open={openFromList} />
        <Moment
          actor={actor}
          at={at}
          change={change}
          reverted={(event) => {
            setWritten(event);
            moment.set(seq);
            reload();
          }}
        />
      </div>
      <Rerun actor={actor} open={moment.set} />
    </div>
  );
}
