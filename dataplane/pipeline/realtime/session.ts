/**
 * A session of the realtime API: relays its events in both directions, and sees to it that whatever a response can cost is
 * held before the provider can begin it. It ends when either end does, when its money does, or when the process drains.
 */
import { GatewayError } from '../../errors.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { MessageSocket } from '../../message-socket.ts';
import { readClientEvent, receiveEvent } from '../../protocol/realtime/client-events.ts';
import type { ClientEvent } from '../../protocol/realtime/client-events.ts';
import { cancelEvent, withEventId, withModel, withoutCause, writeError } from '../../protocol/realtime/edit-events.ts';
import { readServerEvent } from '../../protocol/realtime/server-events.ts';
import type { ServerEvent } from '../../protocol/realtime/server-events.ts';
import type { Admitted, CallRecord, PipelineDeps } from '../context.ts';
import { clientErrorOf } from '../route.ts';
import { checkEvent } from './check-event.ts';
import { Conversation } from './conversation.ts';
import { SessionBill } from './session-bill.ts';
import { eventOf, isTooBig } from './session-end.ts';
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
/** How the ids begin that events without one get, by which errors of the provider name them. */
const OWN_ID = 'mgw_';

export interface SessionParts {
  readonly record: CallRecord;
  readonly admitted: Admitted;
  readonly client: MessageSocket;
  readonly provider: MessageSocket;
}

export class RealtimeSession {
  readonly #deps: PipelineDeps;
  readonly #parts: SessionParts;
  readonly #conversation: Conversation;
  readonly #transcriptions = new Transcriptions();
  readonly #hold: SessionHold;
  readonly #limits: TokenLimits;
  readonly #asked: string[] = [];
  readonly #ended = Promise.withResolvers<SessionEnd>();
  /** Resolves when no response runs after the session's end. */
  readonly #quiet = Promise.withResolvers<void>();
  readonly bill: SessionBill;
  #events = 0;
  #isEnding = false;
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
  async run(): Promise<{ readonly end: SessionEnd; readonly isBusy: boolean }> {
    const watching = setInterval(() => this.#watch(), WATCH_MS).unref();
    void this.#relayClient();
    const relayed = this.#relayProvider();
    const end = await this.#ended.promise;
    clearInterval(watching);
    this.#isEnding = true;
    const isBusy = this.#isBusy;
    await this.#cancel(end);
    const isAbandoned = end.kind !== 'ProviderClosed' && !(end.kind === 'Ended' && end.isFault);
    this.bill.cut(isAbandoned);
    this.#limits.releaseAll();
    this.#parts.provider.close(1000, '');
    await Promise.race([relayed, this.#timeout()]);
    return { end, isBusy };
  }

  /** Ends the session once no response runs. */
  drain(): void {
    this.#isDraining = true;
    if (!this.#isBusy) this.#finish({ kind: 'Draining' });
  }

  /** Ends the session at once. */
  stop(error: GatewayError, isFault: boolean): void {
    this.#finish({ kind: 'Ended', error, isFault });
  }

  /** Sends the client an event about an error. */
  async tell(error: GatewayError, causedBy?: string): Promise<void> {
    await this.#parts.client.send(writeError(eventOf(error, `event_${OWN_ID}${++this.#events}`, causedBy)));
  }

  get #isBusy(): boolean {
    return this.bill.running.length + this.bill.asked > 0;
  }

  #finish(end: SessionEnd): void {
    this.#ended.resolve(end);
  }

  async #relayClient(): Promise<void> {
    const { client } = this.#parts;
    try {
      for await (const message of client.messages()) {
        if (this.#isEnding) continue;
        this.#heardClientAt = this.#deps.clock.monotonicMs();
        await this.#fromClient(message);
      }
    } catch (error) {
      this.#fail(error);
    }
    if (client.closed && isTooBig(client.closed)) this.stop(tooLarge(), false);
    this.#finish({ kind: 'ClientClosed' });
    this.#quietIfDone();
  }

  async #relayProvider(): Promise<void> {
    const { client, provider } = this.#parts;
    try {
      for await (const message of provider.messages()) {
        this.#heardProviderAt = this.#deps.clock.monotonicMs();
        const relayed = await this.#fromProvider(readServerEvent(message), message);
        this.#parts.record.firstByteAt ??= this.#deps.clock.monotonicMs();
        await client.send(relayed);
        this.#quietIfDone();
      }
    } catch (error) {
      this.#fail(error);
    }
    if (provider.closed) this.#finish({ kind: 'ProviderClosed', closed: provider.closed });
    this.#quiet.resolve();
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
    const id = event.eventId ?? `${OWN_ID}${++this.#events}`;
    const named = event.eventId === undefined && canFail(event) ? withEventId(message, id, event.scanned) : message;
    const relayed = event.session ? this.#askChange(id, event.session, named) : named;
    this.#add(event);
    if (event.type === 'response.create' && !(await this.#askResponse(id, event))) return;
    await this.#hold.cover();
    if (!this.#isEnding) await this.#parts.provider.send(relayed);
  }

  /** Undefined: the event is refused, and the client told why. */
  async #read(message: Uint8Array): Promise<ClientEvent | undefined> {
    const { candidate, routed } = this.#parts.admitted;
    let eventId: string | undefined;
    try {
      const received = receiveEvent(message);
      ({ eventId } = received);
      this.#checkId(eventId);
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

  /** Errors of the provider name events, so that no two that may fail have one id. */
  #checkId(eventId = ''): void {
    const isTaken = this.#asked.includes(eventId) || this.#conversation.awaits(eventId) || eventId.startsWith(OWN_ID);
    if (!isTaken) return;
    const message = 'Another event of this session has this id. Give each event its own.';
    throw new GatewayError('invalid_request', message, { param: 'event_id' });
  }

  #askChange(eventId: string, change: NonNullable<ClientEvent['session']>, message: Uint8Array): Uint8Array {
    const { candidate } = this.#parts.admitted;
    this.#conversation.ask(eventId, change);
    const price = typeof change.transcriber === 'string' ? candidate.priceOf(change.transcriber) : undefined;
    if (price && typeof change.transcriber === 'string') this.#transcriptions.use(change.transcriber, price);
    return change.model === undefined ? message : withModel(message, candidate.upstreamModel);
  }

  #add(event: ClientEvent): void {
    if (event.unbounded.length + event.unknown.length > 0) this.#conversation.fill();
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
    this.#asked.push(eventId);
    return true;
  }

  /** Returns the message as the client gets it. */
  async #fromProvider(event: ServerEvent, message: Uint8Array): Promise<Uint8Array> {
    switch (event.kind) {
      case 'Session':
        this.#conversation.confirm(event.session, event.updated);
        await this.#hold.cover();
        return event.session?.model === undefined
          ? message
          : withModel(message, this.#parts.admitted.candidate.model.name);
      case 'ResponseBegun':
        await this.#begin(event.responseId);
        return message;
      case 'ResponseEnded':
        await this.#end(event);
        return message;
      case 'Output':
        this.#parts.record.produced = true;
        this.bill.addOutput(event.responseId, event);
        return message;
      case 'Error':
        return this.#refused(event, message);
      default:
        await this.#transcribe(event);
        return message;
    }
  }

  async #begin(responseId: string): Promise<void> {
    const { bounds, isAsked } = this.bill.begin(responseId);
    this.#parts.record.sent = true;
    if (isAsked) this.#limits.begin(this.#asked.shift(), responseId);
    else {
      const full = await this.#limits.take(responseId, bounds);
      if (full) {
        await this.#parts.provider.send(cancelEvent(responseId));
        await this.tell(full);
      }
    }
    if (this.#isEnding) await this.#parts.provider.send(cancelEvent(responseId));
    else await this.#hold.cover();
  }

  /** Records what the response has cost before the client sees its end. */
  async #end({ responseId, usage }: Extract<ServerEvent, { kind: 'ResponseEnded' }>): Promise<void> {
    const tokens = this.bill.end(responseId, usage);
    this.#parts.record.produced = true;
    this.#limits.release(responseId, tokens);
    if (this.#isEnding) return;
    await this.#hold.record();
    if (this.#isDraining && !this.#isBusy) this.#finish({ kind: 'Draining' });
  }

  #refused({ eventId, error }: Extract<ServerEvent, { kind: 'Error' }>, message: Uint8Array): Uint8Array {
    if (eventId === undefined) return message;
    this.#conversation.refuse(eventId);
    if (this.bill.refuse(eventId)) {
      this.#asked.splice(this.#asked.indexOf(eventId), 1);
      this.#limits.release(eventId, undefined);
    }
    return eventId.startsWith(OWN_ID) ? withoutCause(message, error) : message;
  }

  async #transcribe(event: ServerEvent): Promise<void> {
    if (event.kind === 'AudioCommitted') this.#transcriptions.commit(event.itemId);
    if (event.kind === 'AudioCleared') this.#transcriptions.clear();
    if (event.kind !== 'Transcribed') return;
    this.#transcriptions.end(event.itemId);
    const { model } = this.#transcriptions;
    if (!event.usage || model === undefined) return;
    this.bill.transcribed(event.usage, model);
    this.#parts.record.produced = true;
    if (!this.#isEnding) await this.#hold.record();
  }

  /** Ends what runs when the session ends, and waits for its figures for a while. */
  async #cancel(end: SessionEnd): Promise<void> {
    const { provider, admitted } = this.#parts;
    if (provider.closed || !this.#isBusy) return;
    const isAwaited = end.kind === 'ClientClosed' && admitted.candidate.clientDisconnect === 'Drain';
    if (!isAwaited) await Promise.all(this.bill.running.map((id) => provider.send(cancelEvent(id))));
    await Promise.race([
      this.#quiet.promise,
      this.#timeout(isAwaited ? admitted.candidate.target.timeouts.wholeMs : FIGURES_TIMEOUT_MS),
    ]);
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
    if (this.#isDraining && !this.#isBusy) this.#finish({ kind: 'Draining' });
    const nowMs = this.#deps.clock.monotonicMs();
    const { timeouts } = this.#parts.admitted.candidate.target;
    if (this.bill.running.length > 0 && nowMs - this.#heardProviderAt > timeouts.idleMs) {
      this.#parts.record.timedOut = true;
      this.stop(new GatewayError('upstream_error', 'The provider went silent within a response.'), true);
    }
    if (nowMs - Math.max(this.#heardProviderAt, this.#heardClientAt) > IDLE_MS)
      this.stop(new GatewayError('request_timeout', 'Nothing was said in this session for 15 minutes.'), false);
  }
}

/** Whether an error about the event gives back what was held for it. */
function canFail({ type, session }: ClientEvent): boolean {
  return session !== undefined || type === 'response.create';
}

/** The error for a message that is larger than a session takes. */
function tooLarge(): GatewayError {
  return new GatewayError('request_too_large', 'A message is larger than one of a session may be.');
}
