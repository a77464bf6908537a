/**
 * A request's body, as bytes and parsed. Both are dropped once a provider has responded, because no other channel is
 * tried after that and the response may stream for minutes.
 */
import type { BodyWorker } from '../body-worker/body-worker.ts';
import type { CountPlan, PlainPlan } from '../body-worker/messages.ts';
import { collectTexts } from '../protocol/count-texts.ts';
import type { CountedTexts } from '../protocol/counted-texts.ts';
import { readFacts } from '../protocol/body-kinds.ts';
import type { BodyFacts, BodyKind } from '../protocol/body-kinds.ts';
import type { RequestConverter, UpstreamBody } from '../protocol/converter.ts';
import { asBuffer } from '../protocol/bytes.ts';
import { continueInput } from '../protocol/openai/continued-input.ts';
import type { Continued, ContinuedRequest } from '../protocol/openai/continued-input.ts';
import { readFormFields } from '../protocol/openai/form-fields.ts';
import type { BodyForm } from '../protocol/openai/form-fields.ts';
import { scanUpTo } from '../protocol/json-scan.ts';
import type { JsonObject } from '../protocol/json-scan.ts';
import { readBody } from '../protocol/parse-body.ts';
import type { CountedDialect, ProviderKind, TokenCounter } from '../protocol/provider.ts';
import { createChannelSeal } from '../sealing/channel-seal.ts';

const NO_BYTES = Buffer.alloc(0);
/**
 * A body beyond either bound is read on a worker thread. One within both blocks the event loop for some milliseconds.
 */
const MAX_MAIN_BYTES = 256 * 1024;
const MAX_MAIN_VALUES = 4_000;

export type ParsedBody = Readonly<Record<string, unknown>>;

const NOTHING_PARSED: ParsedBody = {};
const NOTHING_CONTINUED: ContinuedRequest = { body: NO_BYTES, own: Buffer.from('[]') };

export interface CountedAt {
  readonly protocol: ProviderKind;
  readonly dialect: CountedDialect;
}

/** The thread that reads expensive bodies, and the key whose turn this body takes. */
export interface BodyThread {
  readonly worker: Pick<BodyWorker, 'run'>;
  readonly key: string;
}

export interface BodyOptions {
  /** Called once, when the body is dropped. */
  readonly onDrop?: () => void;
  /** Absent: every body is read on this thread. */
  readonly thread?: BodyThread | undefined;
}

export class RequestBody {
  #bytes: Buffer;
  #parsed: ParsedBody | undefined;
  #scanned: JsonObject | undefined;
  #onDrop: (() => void) | undefined;
  readonly #thread: BodyThread | undefined;
  /** The kind as which facts() read the body, if it did so on the worker thread. */
  #offloaded: BodyKind | undefined;
  #form: BodyForm;
  #isDropped = false;

  constructor(bytes: Buffer, { onDrop, thread }: BodyOptions = {}) {
    this.#bytes = bytes;
    this.#onDrop = onDrop;
    this.#thread = thread;
  }

  /** The body as it was sent, decoded; empty once it is dropped. */
  get bytes(): Buffer {
    return this.#bytes;
  }

  /** Reads the facts of a body. Rejects with RequestFault if it is malformed or a needed field is invalid. */
  async facts<Kind extends BodyKind>(kind: Kind, form?: BodyForm): Promise<BodyFacts[Kind]> {
    this.#form = form;
    if (!this.#thread || !this.#isExpensive()) return readFacts(kind, this.#bytes, this.parse(), form);
    this.#offloaded = kind;
    const facts = await this.#thread.worker.run(this.#thread.key, { task: 'Facts', kind, form }, this.#bytes);
    // the worker returns facts of the requested kind
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return facts as BodyFacts[Kind];
  }

  /**
   * Returns the provider's request. Rejects with RequestFault if the provider's protocol cannot express it. `converter`
   * converts from this body's kind to the protocol.
   */
  async convert(converter: RequestConverter, protocol: ProviderKind, plan: PlainPlan): Promise<UpstreamBody> {
    if (converter.written === true) return converter.request(this.#bytes, NOTHING_PARSED, plan);
    if (!this.#thread || !this.#offloaded) {
      const { sealing, ...rest } = plan;
      const seal = sealing && createChannelSeal(sealing);
      return converter.request(this.#bytes, this.parse(), { ...rest, scanned: this.#scanned, seal });
    }
    const { client, api } = converter;
    const task = { task: 'Convert', kind: this.#offloaded, form: this.#form, protocol, client, api, plan } as const;
    return this.#thread.worker.run(this.#thread.key, task, this.#bytes);
  }

  /**
   * Puts the items of what it continues before its own, and returns its own: an array, as JSON. `onDrop` is called when
   * the body is dropped.
   */
  async continueFrom(kept: Continued, onDrop: () => void): Promise<Uint8Array> {
    const { body, own } = this.#isDropped ? NOTHING_CONTINUED : await this.#continued(kept);
    // once its client has left
    if (this.#isDropped) {
      onDrop();
      return own;
    }
    this.#bytes = asBuffer(body);
    this.#parsed = this.#scanned = this.#offloaded = undefined;
    const before = this.#onDrop;
    this.#onDrop = () => {
      before?.();
      onDrop();
    };
    return own;
  }

  async #continued(kept: Continued): Promise<ContinuedRequest> {
    const size = kept.input.length + (kept.response?.length ?? 0);
    const isLarge = this.#offloaded !== undefined || size > MAX_MAIN_BYTES;
    if (!this.#thread || !isLarge) return continueInput(this.#bytes, kept);
    return this.#thread.worker.run(this.#thread.key, { task: 'Continue', kept }, this.#bytes);
  }

  /** Returns the request to a provider's endpoint that counts tokens. */
  async countRequest(counter: TokenCounter, { protocol, dialect }: CountedAt, plan: CountPlan): Promise<UpstreamBody> {
    if (this.#thread && this.#offloaded)
      return this.#thread.worker.run(this.#thread.key, { task: 'CountRequest', protocol, dialect, plan }, this.#bytes);
    const { sealing, ...rest } = plan;
    const seal = sealing && createChannelSeal(sealing);
    return counter.request(this.#bytes, this.parse(), { ...rest, seal });
  }

  /** Returns the texts of a request in this dialect. */
  async texts(dialect: CountedDialect): Promise<CountedTexts> {
    if (!this.#thread || !this.#offloaded) return collectTexts(dialect, this.parse());
    return this.#thread.worker.run(this.#thread.key, { task: 'Texts', dialect }, this.#bytes);
  }

  /** The parsed body. Throws RequestFault if it is neither a JSON object nor the form that it is read as. */
  parse(): ParsedBody {
    return (this.#parsed ??= this.#form === undefined ? this.#read() : readFormFields(this.#bytes, this.#form));
  }

  drop(): void {
    const onDrop = this.#onDrop;
    this.#isDropped = true;
    this.#onDrop = undefined;
    this.#parsed = undefined;
    this.#scanned = undefined;
    this.#bytes = NO_BYTES;
    onDrop?.();
  }

  /**
   * True if the worker thread should read the body. False for a malformed one, whose fault a single scan on this thread
   * finds.
   */
  #isExpensive(): boolean {
    if (this.#bytes.length > MAX_MAIN_BYTES) return true;
    if (this.#form !== undefined) return false;
    const scan = scanUpTo(MAX_MAIN_VALUES, this.#bytes);
    if (scan === 'TooManyValues') return true;
    this.#scanned = scan;
    return false;
  }

  #read(): ParsedBody {
    const { parsed, scanned } = readBody(this.#bytes, this.#scanned);
    this.#scanned = scanned;
    return parsed;
  }
}
