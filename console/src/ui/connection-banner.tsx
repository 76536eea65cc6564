// Owns: saying that the server does not answer, while the page keeps what it has. Does not own: finding out (reachability.ts).
import { awaySince, retry } from "../reachability.ts";
import { Time } from "./time.tsx";

export const ConnectionBanner = () =>
  awaySince.value === undefined ? null : (
    <div class="banner" role="alert">
      <strong>The server does not answer.</strong>
      <span>
        What you see is from before <Time at={awaySince.value} />. The page tries again by itself.
      </span>
      <button type="button" class="small" onClick={() => void retry()}>
        Try now
      </button>
    </div>
  );
