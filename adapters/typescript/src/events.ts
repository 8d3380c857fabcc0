/** Server-sent events: a parser of the stream format. */

import { networkError } from "./errors.ts";

/** One event of a stream; `id` is that of the last event with an id. */
export interface ServerEvent {
  id: string;
  event: string;
  data: string;
}

/** Yield the events of *stream*, as the HTML standard parses event streams. */
export async function* parseEvents(stream: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent, void> {
  let id = "";
  let event = "";
  let data: string[] = [];
  for await (const line of lines(stream)) {
    if (line === "") {
      if (data.length > 0) yield { id, event: event || "message", data: data.join("\n") };
      event = "";
      data = [];
      continue;
    }
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") data.push(value);
    else if (name === "event") event = value;
    else if (name === "id" && !value.includes("\0")) id = value;
  }
}

/** Yield the complete lines of *stream*, which end in LF, CR or CRLF. */
async function* lines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, void> {
  const reader = stream.getReader();
  const decoder = new TextDecoder(); // drops a byte order mark
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw networkError(cause);
      });
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      // A CR at the end may be half of a CRLF.
      const parts = rest.split(done ? /\r\n|\r|\n/ : /\r\n|\r(?!$)|\n/);
      rest = parts.pop() ?? "";
      yield* parts;
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
