/**
 * A session of the realtime API: relays its events in both directions, and sees to it that whatever a response can cost is
 * held before the provider can begin it. It ends when either end does, when its money does, or when the process drains.
 */
import type { TokenCounts } from '#price/tokens.ts';
import { GatewayError } from '../../errors.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { MessageSocket } from '../../message-socket.ts';
import { readClientEvent, receiveEvent } from '../../protocol/realtime/client-events.ts';
import type { ClientEvent } from '../../protocol/realtime/client-events.ts';
import {
  cancelEvent,
  limitEvent,
  withCause,
  withEventId,
  withValues,
  writeError,
} from '../../protocol/realtime/edit-events.ts';
import { readServerEvent } from '../../protocol/realtime/server-events.ts';
import type { ServerEvent } from '../../protocol/realtime/server-events.ts';
import type { SessionChange } from '../../protocol/realtime/session.ts';
import type { Admitted, CallRecord, PipelineDeps } from '../context.ts';
import { clientErrorOf } from '../route.ts';
import { checkEvent } from './check-event.ts';
import { Conversation } from './conversation.ts';
import { EventIds } from './event-ids.ts';
import { ResponseTimes } from './response-times.ts';
import { SessionBill } from './session-bill.ts';
import { eventOf } from './session-end.ts';
import type { SessionEnd } from './session-end.ts';
import { SessionHold } from './session-hold.ts';
import { TokenLimits } from './token-limits.ts';
import { Transcriptions } from './transcriptions.ts';

/** A session in which nothing is said for this long ends. */
const IDLE_MS = 15 * 60_000;
/** How often it is looked whether the session is idle, or its provider silent. */
const WATCH_MS = 1_000;
/** How long the figures of responses are waited for that the session's end cancels. */
const FIGURES_TIMEOUT_MS = 2_000;
/** A client that takes nothing for this long has left. */
const STALLED_CLIENT_MS = 60_000;

export interface SessionParts {
  readonly record: CallRecord;
  readonly admitted: Admitted;
  readonly client: MessageSocket;
  readonly provider: MessageSocket;
}

interface PendingSend {
  readonly sinceMs: number;
  /** Waits for the client no longer. */
  readonly release: () => void;
}

export class RealtimeSession {
  readonly #deps: PipelineDeps;
  readonly #parts: SessionParts;
  readonly #conversation: Conversation;
  readonly #transcriptions = new Transcriptions();
  readonly #hold: SessionHold;
  readonly #limits: TokenLimits;
  readonly #ids = new EventIds();
  readonly #times = new ResponseTimes();
  /** What the client has not taken yet. */
  readonly #sends = new Set<PendingSend>();
  readonly #ended = Promise.withResolvers<SessionEnd>();
  /** Resolves when nothing is left to be billed after the session's end. */
  readonly #quiet = Promise.withResolvers<void>();
  readonly bill: SessionBill;
  #events = 0;
  /** The gateway's own change of the session, of which the client is not told. */
  #ownChange: string | undefined;
  #isEnding = false;
  /** The ledger could not be reached: from then on, only the settlement bills what the provider sends. */
  #isUnrecorded = false;
  #isFinished = false;
  #isClientGone = false;
  /** Whether a message of the provider is on its way to the client. */
  #isRelaying = false;
  #isDraining = false;
  #heardClientAt: number;
  #heardProviderAt: number;

  constructor(deps: PipelineDeps, parts: SessionParts) {
    const { admitted } = parts;
    this.#deps = deps;
    this.#parts = parts;
    this.#conversation = new Conversation(admitted.candidate.model);
    const conversation = this.#conversation;
    this.bill = new SessionBill(admitted.bounds.price, admitted.candidate, {
      conversation,
      transcriptions: this.#transcriptions,
    });
    this.#hold = new SessionHold(deps, admitted, this.bill);
    this.#limits = new TokenLimits(deps, admitted);
    this.#heardClientAt = this.#heardProviderAt = deps.clock.monotonicMs();
  }

  /** Resolves with how the session has ended, once nothing runs any more. Never rejects. */
  async run(): Promise<{ readonly end: SessionEnd; readonly isResponding: boolean }> {
    const watching = setInterval(() => this.#watch(), WATCH_MS).unref();
    void this.#relayClient();
    const relayed = this.#relayProvider();
    const end = await this.#ended.promise;
    clearInterval(watching);
    this.#isEnding = true;
    for (const { release } of this.#sends) release();
    const isResponding = this.#isResponding;
    await this.#cancel(end);
    const isAbandoned = end.kind !== 'ProviderClosed' && !(end.kind === 'Ended' && end.isFault);
    for (const [responseId, tokens] of this.bill.cut(isAbandoned)) this.#limits.release(responseId, tokens);
    this.#limits.releaseAll();
    this.#parts.provider.close(1000, '');
    await Promise.race([relayed, this.#timeout()]);
    return { end, isResponding };
  }

  /** Ends the session once no response runs and no transcription is pending. */
  drain(): void {
    this.#isDraining = true;
    this.#finishDrain();
  }

  /** Ends a draining session that is done. A transcription may never end, so a silent provider is not waited for. */
  #finishDrain(): void {
    if (!this.#isDraining || this.#isResponding) return;
    if (!this.#isBusy || this.#isProviderSilent) this.#finish({ kind: 'Draining' });
  }

  /** Ends the session at once. */
  stop(error: GatewayError, isFault: boolean): void {
    this.#finish({ kind: 'Ended', error, isFault });
  }

  /** Sends the client an event about an error. A session that has ended waits for the client for a while only. */
  async tell(error: GatewayError, causedBy?: string): Promise<void> {
    await this.#send(writeError(eventOf(error, `event_mgw_${++this.#events}`, causedBy)));
  }

  /** Resolves when the client has room for more, or need not be waited for any longer. */
  #send(message: Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      const sinceMs = this.#deps.clock.monotonicMs();
      const pending: PendingSend = {
        sinceMs,
        release: () => {
          this.#sends.delete(pending);
          resolve();
        },
      };
      this.#sends.add(pending);
      void this.#parts.client.send(message).then(pending.release);
      if (this.#isEnding) void this.#timeout().then(pending.release);
    });
  }

  get #isResponding(): boolean {
    return this.bill.running.length + this.bill.asked > 0;
  }

  /** Whether the provider has yet to report usage that is billed. */
  get #isBusy(): boolean {
    return this.#isResponding || this.#transcriptions.pending.length > 0;
  }

  get #isProviderSilent(): boolean {
    const { idleMs } = this.#parts.admitted.candidate.target.timeouts;
    return !this.#isRelaying && this.#deps.clock.monotonicMs() - this.#heardProviderAt > idleMs;
  }

  #finish(end: SessionEnd): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    this.#isClientGone = end.kind === 'ClientClosed';
    this.#ended.resolve(end);
  }

  async #relayClient(): Promise<void> {
    const { client } = this.#parts;
    try {
      for await (const message of client.messages()) {
        if (this.#isFinished) continue;
        this.#heardClientAt = this.#deps.clock.monotonicMs();
        await this.#fromClient(message);
      }
    } catch (error) {
      this.#fail(error);
    }
    if (client.closed?.receivedTooBig) this.stop(tooLarge(), false);
    this.#finish({ kind: 'ClientClosed' });
    this.#quietIfDone();
  }

  async #relayProvider(): Promise<void> {
    const { provider } = this.#parts;
    for await (const message of provider.messages()) {
      this.#isRelaying = true;
      await this.#relay(readServerEvent(message), message);
      this.#isRelaying = false;
      this.#heardProviderAt = this.#deps.clock.monotonicMs();
    }
    if (provider.closed) this.#finish({ kind: 'ProviderClosed', closed: provider.closed });
    this.#quiet.resolve();
  }

  /**
   * Passes a message on once its usage is recorded. If that fails, the session ends. If the ledger cannot be reached, the
   * message is kept back: should the process die, only what is recorded is billed.
   */
  async #relay(event: ServerEvent, message: Uint8Array): Promise<void> {
    const isOver = this.#isEnding;
    let relayed: Uint8Array | undefined = message;
    try {
      relayed = this.#rewrite(event, message);
      await this.#record(event);
    } catch (error) {
      if (error instanceof LedgerUnavailable) this.#isUnrecorded = true;
      this.#fail(error);
    }
    this.#parts.record.firstByteAt ??= this.#deps.clock.monotonicMs();
    // of a session that is over, the client gets the ends of responses, which are billed
    const isWanted = !this.#isUnrecorded && (!isOver || event.kind === 'ResponseEnded');
    if (relayed && isWanted && !this.#isClientGone) {
      const sent = this.#send(relayed);
      if (!this.#isEnding) await sent;
    }
    this.#quietIfDone();
  }

  /** An error that ends the session. */
  #fail(error: unknown): void {
    if (error instanceof GatewayError) return this.stop(error, false);
    if (error instanceof LedgerUnavailable) {
      const message = 'The ledger cannot be reached, so that nothing can be billed now. Open another session shortly.';
      return this.stop(new GatewayError('ledger_unavailable', message, { retryAfterSeconds: 1 }), false);
    }
    this.#deps.defect(this.#parts.record.received.requestId, error);
    this.stop(new GatewayError('internal_error', 'The gateway failed on this session.'), false);
  }

  /** Passes an event on once everything is held that it can cost. */
  async #fromClient(message: Uint8Array): Promise<void> {
    const event = await this.#read(message);
    if (!event) return;
    const isNamed = canFail(event);
    const id = isNamed ? this.#ids.give(event.eventId) : '';
    const relayed = this.#limited(event, isNamed ? withEventId(message, id, event.scanned) : message);
    if (event.session) this.#askChange(id, event.session);
    this.#add(event);
    if (event.type === 'response.create' && !(await this.#askResponse(id, event))) return;
    try {
      await this.#hold.cover();
    } catch (error) {
      this.#withdraw(id);
      throw error;
    }
    if (this.#isEnding) this.#withdraw(id);
    else await this.#parts.provider.send(relayed);
  }

  /** The event with no higher limit of output than the model's, and with the provider's name of the model. */
  #limited({ session, maxOutputTokens }: ClientEvent, message: Uint8Array): Uint8Array {
    const { model, upstreamModel } = this.#parts.admitted.candidate;
    const limit = (tokens = 0): readonly [string, unknown][] =>
      tokens > model.maxOutputTokens ? [['max_output_tokens', model.maxOutputTokens]] : [];
    if (!session) return withValues(message, 'response', new Map(limit(maxOutputTokens)));
    const renamed: readonly [string, unknown][] = session.model === undefined ? [] : [['model', upstreamModel]];
    return withValues(message, 'session', new Map([...renamed, ...limit(session.maxOutputTokens)]));
  }

  /** Undefined: the event is refused, and the client told why. */
  async #read(message: Uint8Array): Promise<ClientEvent | undefined> {
    const { candidate, routed } = this.#parts.admitted;
    let eventId: string | undefined;
    try {
      const received = receiveEvent(message);
      ({ eventId } = received);
      this.#ids.check(eventId);
      const event = readClientEvent(received);
      checkEvent(event, {
        candidate,
        key: routed.key,
        offers: this.#deps.state.get().groups.get(routed.key.group)?.offers,
        asked: this.bill.asked,
        transcriber: this.#transcriptions.model,
      });
      return event;
    } catch (error) {
      const refusal = clientErrorOf(error);
      if (!(refusal instanceof GatewayError)) throw error;
      await this.tell(refusal, eventId);
      return undefined;
    }
  }

  #askChange(eventId: string, change: SessionChange): void {
    const { candidate } = this.#parts.admitted;
    this.#conversation.ask(eventId, change);
    const price = typeof change.transcriber === 'string' ? candidate.priceOf(change.transcriber) : undefined;
    if (price && typeof change.transcriber === 'string')
      this.#transcriptions.use(change.transcriber, price, change.promptBytes);
  }

  #add(event: ClientEvent): void {
    if (event.unbounded.length + event.unknown.length > 0 || event.repeatsItems) this.#conversation.fill();
    // settings are replaced, and counted as what they are
    if (event.session) return;
    this.#conversation.add(event);
    this.#transcriptions.addAudio(event.audioBytes / this.#conversation.bytesPerSecond);
  }

  /** Returns false if a limit of tokens leaves too little for the response. */
  async #askResponse(eventId: string, event: ClientEvent): Promise<boolean> {
    const bounds = this.bill.ask(eventId, event.maxOutputTokens);
    const full = await this.#limits.take(eventId, bounds);
    if (full) {
      this.bill.refuse(eventId);
      await this.tell(full, event.eventId);
      return false;
    }
    return true;
  }

  /** The response that this event asks for does not begin. */
  #withdraw(eventId: string): void {
    if (this.bill.refuse(eventId)) this.#limits.release(eventId, undefined);
  }

  /** Returns the message as the client gets it; undefined: it gets none. */
  #rewrite(event: ServerEvent, message: Uint8Array): Uint8Array | undefined {
    if (event.kind === 'Error') return this.#refused(event, message);
    if (event.kind !== 'Session') return message;
    const confirmed = this.#conversation.confirm(event.session, event.updated);
    if (confirmed) this.#confirmTranscriber(confirmed.change);
    if (confirmed && confirmed.eventId === this.#ownChange) return undefined;
    const model = event.session?.model;
    const name = this.#parts.admitted.candidate.model.name;
    return withValues(message, 'session', new Map(model === undefined ? [] : [['model', name]]));
  }

  #confirmTranscriber({ transcriber }: SessionChange): void {
    if (typeof transcriber === 'string') this.#transcriptions.confirm();
    if (transcriber === null && !this.#asksForTranscriber) this.#transcriptions.stop();
  }

  get #asksForTranscriber(): boolean {
    return this.#conversation.asked.some(({ change }) => typeof change.transcriber === 'string');
  }

  async #record(event: ServerEvent): Promise<void> {
    switch (event.kind) {
      case 'Session':
        if (!event.updated) await this.#limitSession();
        return this.#hold.cover();
      case 'ResponseBegun':
        return this.#begin(event.responseId);
      case 'ResponseEnded':
        return this.#end(event);
      case 'Output':
        this.#parts.record.produced = true;
        this.#times.addOutput(event.responseId, this.#deps.clock.monotonicMs());
        this.bill.addOutput(event.responseId, event);
        return;
      default:
        return this.#transcribe(event);
    }
  }

  /** Tells the provider the model's limit of output if its own is higher, which no hold would cover. */
  async #limitSession(): Promise<void> {
    const limit = this.#conversation.limitToSet;
    if (limit === undefined || this.#ownChange !== undefined) return;
    this.#ownChange = this.#ids.give(undefined);
    this.#conversation.ask(this.#ownChange, { ...NO_CHANGE, maxOutputTokens: limit });
    await this.#parts.provider.send(limitEvent(this.#ownChange, limit));
  }

  async #begin(responseId: string): Promise<void> {
    const begun = this.bill.begin(responseId);
    if (!begun) return;
    this.#parts.record.sent = true;
    this.#times.begin(responseId, this.#deps.clock.monotonicMs());
    if (begun.eventId !== undefined) this.#limits.begin(begun.eventId, responseId);
    else {
      const full = await this.#limits.take(responseId, begun.bounds);
      if (full) {
        await this.#cancelResponse(responseId);
        await this.tell(full);
      }
    }
    if (this.#isEnding) await this.#cancelResponse(responseId);
    else await this.#hold.cover();
  }

  /** Records what the response has cost before the client sees its end. */
  async #end({ responseId, usage, failed }: Extract<ServerEvent, { kind: 'ResponseEnded' }>): Promise<void> {
    const tokens = this.bill.end(responseId, usage, failed);
    if (!tokens) return;
    this.#parts.record.produced = true;
    this.#limits.release(responseId, tokens);
    this.#report(responseId, tokens);
    if (this.#isEnding) return;
    await this.#hold.record();
    this.#finishDrain();
  }

  #report(responseId: string, { output }: TokenCounts): void {
    const time = this.#times.end(responseId, this.#deps.clock.monotonicMs());
    const { model, target } = this.#parts.admitted.candidate;
    if (time)
      this.#deps.telemetry.responded({ ...time, model: model.name, protocol: target.protocol, outputTokens: output });
  }

  #refused({ eventId, error }: Extract<ServerEvent, { kind: 'Error' }>, message: Uint8Array): Uint8Array | undefined {
    if (eventId === undefined) {
      this.bill.doubt(this.#deps.clock.monotonicMs());
      const [first] = this.#conversation.asked;
      if (first && first.eventId === this.#ownChange) this.#conversation.refuse(first.eventId);
      return message;
    }
    if (!this.#ids.isOwn(eventId)) return message;
    const change = this.#conversation.refuse(eventId);
    if (typeof change?.transcriber === 'string' && !this.#asksForTranscriber) this.#transcriptions.refuse();
    this.#withdraw(eventId);
    if (eventId === this.#ownChange) return undefined;
    return withCause(message, error, this.#ids.clientIdOf(eventId) ?? null);
  }

  async #transcribe(event: ServerEvent): Promise<void> {
    if (event.kind === 'AudioCleared') this.#transcriptions.clear();
    if (event.kind === 'AudioCommitted') {
      this.#transcriptions.commit(event.itemId);
      if (!this.#isEnding) await this.#hold.cover();
    }
    if (event.kind === 'Transcribing') {
      this.#transcriptions.addText(event.itemId, event.textBytes);
      this.#parts.record.produced = true;
    }
    if (event.kind !== 'Transcribed') return;
    const piece = this.#transcriptions.end(event.itemId, event.textBytes);
    if (piece && !event.failed) {
      this.bill.transcribed(event.usage, piece);
      this.#parts.record.produced = true;
      if (!this.#isEnding) await this.#hold.record();
    }
    this.#finishDrain();
  }

  /** Ends what runs when the session ends, and waits for its figures for a while. */
  async #cancel(end: SessionEnd): Promise<void> {
    const { provider, admitted } = this.#parts;
    if (provider.closed || !this.#isBusy) return;
    const isAwaited =
      this.#isResponding && end.kind === 'ClientClosed' && admitted.candidate.clientDisconnect === 'Drain';
    if (!isAwaited) await Promise.all(this.bill.running.map((id) => this.#cancelResponse(id)));
    await Promise.race([
      this.#quiet.promise,
      this.#timeout(isAwaited ? admitted.candidate.target.timeouts.wholeMs : FIGURES_TIMEOUT_MS),
    ]);
  }

  /** The event has an id, so that an error about it is of no other event. */
  #cancelResponse(responseId: string): Promise<void> {
    return this.#parts.provider.send(cancelEvent(this.#ids.give(undefined), responseId));
  }

  #quietIfDone(): void {
    if (this.#isEnding && !this.#isBusy) this.#quiet.resolve();
  }

  #timeout(ms = FIGURES_TIMEOUT_MS): Promise<void> {
    return new Promise((resolve) => {
      setTimeout(resolve, ms).unref();
    });
  }

  #watch(): void {
    const nowMs = this.#deps.clock.monotonicMs();
    for (const eventId of this.bill.giveUp(nowMs)) this.#limits.release(eventId, undefined);
    this.#finishDrain();
    if ([...this.#sends].some(({ sinceMs }) => nowMs - sinceMs > STALLED_CLIENT_MS))
      this.#finish({ kind: 'ClientClosed' });
    if (this.bill.running.length > 0 && this.#isProviderSilent) {
      this.#parts.record.timedOut = true;
      this.stop(new GatewayError('upstream_error', 'The provider went silent within a response.'), true);
    }
    if (nowMs - Math.max(this.#heardProviderAt, this.#heardClientAt) > IDLE_MS)
      this.stop(new GatewayError('request_timeout', 'Nothing was said in this session for 15 minutes.'), false);
  }
}

/** A change of a session's settings that changes none. */
const NO_CHANGE: SessionChange = {
  maxOutputTokens: undefined,
  beginsResponses: undefined,
  bytes: 0,
  model: undefined,
  compactInput: false,
  compactOutput: undefined,
  transcriber: undefined,
  promptBytes: 0,
};

/** Whether an error about the event gives back what was held for it. */
function canFail({ type, session }: ClientEvent): boolean {
  return session !== undefined || type === 'response.create';
}

/** The error for a message that is larger than a session takes. */
function tooLarge(): GatewayError {
  return new GatewayError('request_too_large', 'A message is larger than one of a session may be.');
}
