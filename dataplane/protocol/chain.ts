/**
 * Chains two conversions: a new kind of provider has to convert only one of the dialects, and gets the other through
 * the existing conversion between the dialects.
 */
import type {
  ResponseContext,
  ConversionNotes,
  Converter,
  Meter,
  StreamConverter,
  StreamEnd,
  StreamRequest,
  UpstreamBody,
} from './converter.ts';
import type { JsonRecord } from './fields.ts';
import { parseObject } from './json-value.ts';

/** `first`: from the client's dialect to the intermediate one; `second`: from there to the provider. */
export function chain(first: Converter, second: Converter): Converter {
  return {
    client: first.client,
    upstream: second.upstream,
    request: (body, parsed, plan) => {
      const middle = first.request(body, parsed, plan);
      const sent = withNotes(middle.notes, second.request(middle.body, parseMiddle(middle), plan));
      return middle.dropped ? { ...sent, dropped: [...middle.dropped, ...(sent.dropped ?? [])] } : sent;
    },
    response: (body, answer) => {
      const middle = second.response(body, answer && innerOf(answer));
      return { ...first.response(middle.body, answer), meter: middle.meter };
    },
    // the intermediate stream always has usage, because the client's may be written from it
    stream: (request) =>
      new ChainedStream(first.stream(request), second.stream({ ...innerOf(request), wantsStreamUsage: true })),
  };
}

function parseMiddle({ body }: UpstreamBody): JsonRecord {
  return parseObject(body);
}

function withNotes(outer: ConversionNotes | undefined, sent: UpstreamBody): UpstreamBody {
  return outer || sent.notes ? { ...sent, notes: { ...outer, ...(sent.notes ? { inner: sent.notes } : {}) } } : sent;
}

/** The context with the notes of the second conversion. */
function innerOf<Context extends ResponseContext | StreamRequest>({
  notes,
  ...context
}: Context): Omit<Context, 'notes'> & Pick<ResponseContext, 'notes'> {
  return notes?.inner ? { ...context, notes: notes.inner } : context;
}

class ChainedStream implements StreamConverter {
  readonly #outer: StreamConverter;
  readonly #inner: StreamConverter;

  constructor(outer: StreamConverter, inner: StreamConverter) {
    this.#outer = outer;
    this.#inner = inner;
  }

  get terminal(): boolean {
    return this.#inner.terminal;
  }

  get meter(): Meter {
    return this.#inner.meter;
  }

  get fail(): StreamConverter['fail'] {
    return this.#outer.fail;
  }

  push(chunk: Uint8Array): Uint8Array {
    return this.#outer.push(this.#inner.push(chunk));
  }

  /** The outer stream reads the inner stream's last event, which may be an error. */
  end(): StreamEnd {
    const inner = this.#inner.end();
    if (inner.outcome === 'Cut') return inner;
    const rest = this.#outer.push(inner.last);
    const outer = this.#outer.end();
    return outer.outcome === 'Cut' || rest.length === 0 ? outer : { ...outer, last: Buffer.concat([rest, outer.last]) };
  }
}
