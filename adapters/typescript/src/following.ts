/** The journal as it grows: a stream of events that goes on after a lost connection. */

import { ServerError } from "./errors.ts";
import { parseEvents } from "./events.ts";
import { type Http, answer } from "./http.ts";
import { pause, sleep } from "./retrying.ts";
import type { EventOptions, JournalEvent } from "./types.ts";

/**
 * Yield the entries after *since*. A connection that is lost is opened again, however long that
 * takes, and goes on after the last event; a first connection that fails is an error.
 */
export async function* following(
  http: Http,
  since: number,
  { follow = true, signal }: EventOptions,
): AsyncGenerator<JournalEvent, void> {
  let [last, lost, connected] = [since, 0, false];
  for (;;) {
    try {
      const params = { header: { "Last-Event-ID": String(last) }, query: { follow } };
      const { data } = await answer(http.GET("/v1/events", { params, parseAs: "stream", signal }));
      connected = true;
      for await (const event of parseEvents(data)) {
        signal?.throwIfAborted();
        [last, lost] = [Number(event.id), 0];
        yield JSON.parse(event.data) as JournalEvent;
      }
      if (!follow) return;
    } catch (error) {
      signal?.throwIfAborted();
      if (!connected || !(error instanceof ServerError)) throw error;
    }
    await sleep(pause(lost++), signal);
  }
}
