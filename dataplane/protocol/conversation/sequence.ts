/**
 * Puts what a provider sends of one candidate in order: calls come one after the other, and each is whole before the
 * next begins. A call stays open until the provider says its end, or else until the response ends; what comes meanwhile
 * is queued. A call is named once its arguments begin, because its name may come in pieces; one without a name is no
 * call.
 */
import { wholeArguments } from './arguments.ts';
import type { ConversationEvent } from './events.ts';
import type { ReasoningProof } from './reasoning.ts';

/** A piece of a call: its id and name once or repeated, its arguments in pieces. */
export interface CallPiece {
  /** The provider's index of the call; undefined: it has none. */
  readonly key: unknown;
  readonly id: string | undefined;
  readonly name: string | undefined;
  /** Of its arguments, which are JSON. */
  readonly text: string;
  /** Gemini's thought signature. */
  readonly signature?: string | undefined;
}

export interface SequenceOptions {
  /** Absent: the first. */
  readonly candidate?: number;
  /** The id that a call gets, by that of the provider; undefined: it gives none. */
  readonly idOf: (given: string | undefined) => string;
  /** The client's name of a tool, by the name that was sent. */
  readonly clientName: (name: string) => string;
}

interface OpenCall {
  readonly key: unknown;
  /** As the provider has it. */
  readonly id: string | undefined;
  /** As the client gets it, once it has started. */
  sentId?: string;
  name: string;
  signature: string | undefined;
  /** Arguments that wait. */
  pending: string;
  /** Held: its arguments are JSON in a JSON string, and come out of it when they are whole. */
  state: 'Waiting' | 'Held' | 'Started';
  /** The provider has said its end. */
  isWhole: boolean;
}

export class Sequence {
  /** From #head on: the first is a call that is open or waits for its name; the others wait for it. */
  readonly #queue: (OpenCall | ConversationEvent)[] = [];
  #head = 0;
  #lastCall: OpenCall | undefined;
  /** The last call of each index, and of each id: a provider may send many thousands. */
  readonly #callsByKey = new Map<unknown, OpenCall>();
  readonly #callsById = new Map<string | undefined, OpenCall>();
  readonly #options: SequenceOptions;
  /** Signatures of calls that have not come yet, by id. */
  readonly #signatures = new Map<string, string>();
  #started = 0;

  constructor(options: SequenceOptions) {
    this.#options = options;
  }

  /** Whether a call has come that has a name. */
  get calledTools(): boolean {
    return this.#started > 0;
  }

  /** Adds anything but a call. */
  add(event: ConversationEvent): readonly ConversationEvent[] {
    if (this.#queue.length === 0) return [event];
    const last = this.#queue.at(-1);
    const joined = last && 'type' in last ? join(last, event) : undefined;
    if (joined) this.#queue[this.#queue.length - 1] = joined;
    else this.#queue.push(event);
    return [];
  }

  addCall(piece: CallPiece): readonly ConversationEvent[] {
    const call = this.#callOf(piece);
    call.signature ??= piece.signature;
    if (call.state === 'Waiting' && call.pending === '') call.name = joinName(call.name, piece.name ?? '');
    call.pending += piece.text;
    return call === this.#queue[this.#head] ? this.#write(call) : [];
  }

  /** Adds Gemini's signature of a call, which may come before the call, with it or after it. */
  sign(id: string, signature: string): readonly ConversationEvent[] {
    const call = this.#callsById.get(id);
    if (!call) this.#signatures.set(id, signature);
    else if (call.sentId === undefined) call.signature = signature;
    else return this.add({ type: 'reasoning-end', ...this.#candidate, proof: signatureOf(call.sentId, signature) });
    return [];
  }

  /** Ends a call that no piece follows. */
  endCall(key: unknown): readonly ConversationEvent[] {
    const call = this.#callsByKey.get(key);
    if (!call) return [];
    call.isWhole = true;
    return this.#takeWhole();
  }

  /** What is queued before the first call that may still go on, and of that call what has come. */
  #takeWhole(): readonly ConversationEvent[] {
    let open = this.#head;
    while (open < this.#queue.length && isWhole(this.#queue[open])) open++;
    const whole = this.#takeUntil(open);
    const next = this.#queue[this.#head];
    const rest = next && !('type' in next) ? this.#write(next) : [];
    return [...whole.flatMap((item) => ('type' in item ? [item] : this.#end(item))), ...rest];
  }

  /** The array moves its items only once half of it is taken, so that each item costs the same in a long queue. */
  #takeUntil(end: number): readonly (OpenCall | ConversationEvent)[] {
    const taken = this.#queue.slice(this.#head, end);
    this.#head = end;
    if (this.#head * 2 >= this.#queue.length) {
      this.#queue.splice(0, this.#head);
      this.#head = 0;
    }
    return taken;
  }

  /** Everything that is queued. */
  close(): readonly ConversationEvent[] {
    return this.#takeUntil(this.#queue.length).flatMap((item) => ('type' in item ? [item] : this.#end(item)));
  }

  /** The call that a piece belongs to: by its index, unless a new id shows that the provider repeats indexes. */
  #callOf({ key, id }: CallPiece): OpenCall {
    const known = this.#knownCall(key, id);
    if (known && (id === undefined || known.id === undefined || known.id === id)) return known;
    const signature = id === undefined ? undefined : this.#signatures.get(id);
    const call: OpenCall = { key, id, name: '', signature, pending: '', state: 'Waiting', isWhole: false };
    this.#lastCall = call;
    this.#callsByKey.set(key, call);
    this.#callsById.set(id, call);
    this.#queue.push(call);
    return call;
  }

  #knownCall(key: unknown, id: string | undefined): OpenCall | undefined {
    if (key !== undefined) return this.#callsByKey.get(key);
    if (id === undefined) return this.#lastCall;
    const call = this.#callsById.get(id);
    return call?.key === undefined ? call : undefined;
  }

  #write(call: OpenCall): readonly ConversationEvent[] {
    if (call.state === 'Waiting') {
      const begin = call.pending.trimStart();
      if (call.name === '' || begin === '') return [];
      if (begin.startsWith('"')) call.state = 'Held';
    }
    return call.state === 'Held' ? [] : [...this.#start(call), ...this.#takePending(call)];
  }

  #end(call: OpenCall): readonly ConversationEvent[] {
    if (call.name === '') return [];
    if (call.state !== 'Started') call.pending = wholeArguments(call.pending);
    return [...this.#start(call), ...this.#takePending(call), { type: 'call-end', ...this.#candidate }];
  }

  #start(call: OpenCall): readonly ConversationEvent[] {
    if (call.state === 'Started') return [];
    call.state = 'Started';
    this.#started++;
    const { idOf, clientName } = this.#options;
    const { signature } = call;
    const id = idOf(call.id);
    call.sentId = id;
    const start: ConversationEvent = { type: 'call-start', ...this.#candidate, id, name: clientName(call.name) };
    if (signature === undefined) return [start];
    return [{ type: 'reasoning-end', ...this.#candidate, proof: signatureOf(id, signature) }, start];
  }

  #takePending(call: OpenCall): readonly ConversationEvent[] {
    const { pending: text } = call;
    call.pending = '';
    return text === '' ? [] : [{ type: 'call-delta', ...this.#candidate, text }];
  }

  get #candidate(): { readonly candidate?: number } {
    const { candidate } = this.#options;
    return candidate === undefined || candidate === 0 ? {} : { candidate };
  }
}

function isWhole(item: OpenCall | ConversationEvent | undefined): boolean {
  return item !== undefined && ('type' in item || item.isWhole);
}

function signatureOf(callId: string, signature: string): ReasoningProof {
  return { maker: 'Gemini', signature, callId };
}

/** Two pieces of one text, as one; undefined: they are different things. */
function join(before: ConversationEvent, event: ConversationEvent): ConversationEvent | undefined {
  switch (event.type) {
    case 'text-delta':
    case 'reasoning-delta':
    case 'refusal-delta':
      return before.type === event.type ? { ...event, text: before.text + event.text } : undefined;
    default:
      return undefined;
  }
}

/** Providers send a name once, with every piece, as far as it has come, or piece by piece. */
function joinName(before: string, piece: string): string {
  return piece.startsWith(before) ? piece : before + piece;
}
