// Owns: recorded traffic from a file, which is only read, and the buttons that save and open such files. Does not own: the file (recording.ts).
import { useSignal } from "@preact/signals";
import type { TrafficRow } from "../../../../src/bridges/console/shapes.ts";
import { asApiError } from "../../api.ts";
import { FileButton } from "../../ui/file-button.tsx";
import { useOpenRow } from "../../ui/open-row.tsx";
import { PageHead } from "../../ui/page-head.tsx";
import { Split } from "../../ui/panel.tsx";
import { Empty } from "../../ui/states.tsx";
import { Time } from "../../ui/time.tsx";
import { toast } from "../../ui/toasts.tsx";
import { Detail } from "./detail.tsx";
import { matches } from "./filter.ts";
import { TrafficFilters, useTrafficFilter } from "./filters.tsx";
import { numbersWith, openRecording, readRecording, type Recording, saveRecording } from "./recording.ts";
import { Rows } from "./rows.tsx";
import "../../ui/live-list.css";

const STEP = 200;

export function RecordedTraffic({ recording }: { readonly recording: Recording }) {
  const { file, savedAt, server, items } = recording;
  const filters = useTrafficFilter();
  const open = useOpenRow();
  const shown = useSignal(STEP);
  const { filter } = filters;
  const inText = filter.search === "" ? undefined : numbersWith(filter.search, filter.where === "all", items);
  const found = items.filter((row) => matches(row, filter, inText));
  const detail = items.find(({ n }) => String(n) === open.key);
  return (
    <>
      <PageHead title="Traffic" what="from a file, as it was recorded">
        <OpenRecording />
        <button type="button" class="small primary" onClick={() => (openRecording.value = undefined)}>
          Close the file
        </button>
      </PageHead>
      <p class="notice" role="status">
        <strong class="id">{file}</strong> has {items.length.toLocaleString()} {items.length === 1 ? "message" : "messages"}
        {server === "" ? "" : ` of ${server}`}, saved <Time at={savedAt} />. Nothing of it is on this server.
      </p>
      <TrafficFilters filters={filters} rows={items} />
      <Split live panel={detail === undefined ? undefined : <Detail detail={detail} onClose={open.close} />}>
        <div class="live-list">
          {found.length === 0 ? (
            <Empty title="Nothing matches">Change or clear the filters.</Empty>
          ) : (
            <Rows rows={found.slice(0, shown.value)} all={items} open={open} onSession={filters.setSession} />
          )}
          {found.length > shown.value ? (
            <button type="button" class="small" onClick={() => (shown.value += STEP)}>
              Show older
            </button>
          ) : null}
        </div>
      </Split>
    </>
  );
}

export function OpenRecording() {
  const load = async (file: File): Promise<void> => {
    try {
      openRecording.value = await readRecording(file);
    } catch (error) {
      toast(asApiError(error).message, "failed");
    }
  };
  return <FileButton text="Open a file …" label="A file of traffic" onFile={(file) => void load(file)} />;
}

/** `rows`: those that are saved, with all their messages. */
export function SaveRecording({ rows }: { readonly rows: readonly TrafficRow[] }) {
  const running = useSignal<{ readonly done: number; readonly controller: AbortController } | undefined>(undefined);
  const save = async (): Promise<void> => {
    const controller = new AbortController();
    running.value = { done: 0, controller };
    try {
      await saveRecording(new Set(rows.map(({ n }) => n)), (done) => (running.value = { done, controller }), controller.signal);
    } catch (error) {
      if (!controller.signal.aborted) toast(asApiError(error).message, "failed");
    }
    running.value = undefined;
  };
  const { value: now } = running;
  return now === undefined ? (
    <button type="button" class="small" disabled={rows.length === 0} onClick={() => void save()}>
      Save …
    </button>
  ) : (
    <button type="button" class="small" onClick={() => now.controller.abort()}>
      {now.done.toLocaleString()} loaded: cancel
    </button>
  );
}
