/**
 * [P] Bounds what the next response of a session can read and write, by everything that the session was sent: a token is
 * at least a byte of text, and audio has at most TOKENS_PER_SECOND. No response reads more than the model's context.
 */
import { estimateTokens } from '../../protocol/estimate.ts';
import type { AddedContent } from '../../protocol/realtime/client-events.ts';
import type { SessionChange } from '../../protocol/realtime/session.ts';
import type { ModelState } from '../../state/state.ts';

/** OpenAI counts ten tokens for a second of a user's audio. Twice that is held, for other models. */
const TOKENS_PER_SECOND = 20;
export const USUAL_TOKENS_PER_SECOND = 10;
const PCM_BYTES_PER_SECOND = 48_000;
const COMPACT_BYTES_PER_SECOND = 8_000;
/** Upper bound of what a provider's template adds to a session, and to each of its events. */
const SESSION_TOKENS = 1024;
const EVENT_TOKENS = 16;
/** A session holds money for so many further tokens at a time, so that not each piece of audio needs a new hold. */
export const SLICE_TOKENS = 4096;

type Limits = Pick<ModelState, 'contextTokens' | 'maxOutputTokens' | 'imageTokens'>;

/** A change of the session that its provider has not confirmed. */
export interface AskedChange {
  readonly eventId: string;
  readonly change: SessionChange;
}

/** What is known of the session's settings. */
interface Settings {
  readonly maxOutputTokens: number;
  readonly beginsResponses: boolean;
  readonly bytes: number;
  readonly compactOutput: boolean;
}

export class Conversation {
  readonly #model: Limits;
  #tokens = 0;
  #estimated = 0;
  /** As OpenAI begins sessions, until the provider says how this one is. */
  #settings: Settings = { maxOutputTokens: Infinity, beginsResponses: true, bytes: 0, compactOutput: false };
  #asked: readonly AskedChange[] = [];
  #isCompact = false;

  constructor(model: Limits) {
    this.#model = model;
  }

  /** Counts what an event adds, which every later response may read. */
  add({ textBytes, audioBytes, images }: Pick<AddedContent, 'textBytes' | 'audioBytes' | 'images'>): void {
    const seconds = audioBytes / this.bytesPerSecond;
    const ofImages = images * this.#model.imageTokens;
    const ofForm = textBytes > 0 ? EVENT_TOKENS : 0;
    this.#tokens += textBytes + ofForm + seconds * TOKENS_PER_SECOND + ofImages;
    this.#estimated += estimateTokens(textBytes) + seconds * USUAL_TOKENS_PER_SECOND + ofImages;
  }

  /** Something may make the provider read any amount: every response may now fill the context. */
  fill(): void {
    this.#tokens = this.#model.contextTokens;
  }

  /** Counts what a response has written, which later ones read. */
  addOutput(tokens: number): void {
    this.#tokens += tokens;
    this.#estimated += tokens;
  }

  /** The client asks for a change, which may be in force from now on, or may be refused. */
  ask(eventId: string, change: SessionChange): void {
    this.#isCompact ||= change.compactInput;
    this.#asked = [...this.#asked, { eventId, change }];
  }

  /**
   * The provider confirms the earliest change that it has not confirmed, which is returned, or tells how the session
   * begins.
   */
  confirm(session: SessionChange | undefined, updated: boolean): AskedChange | undefined {
    const first = updated ? this.#asked[0] : undefined;
    if (first) this.#asked = this.#asked.slice(1);
    const change = session ?? first?.change;
    if (!change) return undefined;
    this.#isCompact ||= change.compactInput;
    const bytes = session ? session.bytes : this.#settings.bytes + change.bytes;
    this.#settings = { ...settingsAfter(this.#settings, change), bytes };
    return first;
  }

  /** The provider refuses the change that this event asked for, which is returned. */
  refuse(eventId: string): SessionChange | undefined {
    const refused = this.#asked.find((asked) => asked.eventId === eventId);
    this.#asked = this.#asked.filter((asked) => asked !== refused);
    return refused?.change;
  }

  /** The changes that the provider has neither confirmed nor refused, the earliest first. */
  get asked(): readonly AskedChange[] {
    return this.#asked;
  }

  /**
   * The limit that the provider must be told, which would let responses have more output than the model; undefined:
   * none. What the client has asked for meanwhile is kept.
   */
  get limitToSet(): number | undefined {
    const { maxOutputTokens } = this.#model;
    if (this.#settings.maxOutputTokens <= maxOutputTokens) return undefined;
    const asked = this.#asked.findLast(({ change }) => change.maxOutputTokens !== undefined);
    return this.limited(asked?.change.maxOutputTokens ?? maxOutputTokens);
  }

  /** Whether the provider may begin a response that the client has not asked for. */
  get beginsResponses(): boolean {
    return this.#settings.beginsResponses || this.#asked.some(({ change }) => change.beginsResponses === true);
  }

  /** The most tokens that a response may have, as the session says. */
  get outputTokens(): number {
    const asked = this.#asked.map(({ change }) => change.maxOutputTokens ?? 0);
    return this.limited(Math.max(this.#settings.maxOutputTokens, ...asked));
  }

  /** A limit of output tokens, within what the model can. */
  limited(tokens: number): number {
    return Math.min(tokens, this.#model.maxOutputTokens);
  }

  /** The most tokens that a response which began now would read. */
  get inputTokens(): number {
    return Math.min(this.#model.contextTokens, Math.ceil(this.#tokens) + this.#settingsBytes + SESSION_TOKENS);
  }

  /** The same with room for what comes next, by whole slices. */
  get inputTokensAhead(): number {
    const slices = Math.floor(this.inputTokens / SLICE_TOKENS) + 1;
    return Math.min(this.#model.contextTokens, slices * SLICE_TOKENS);
  }

  /** What a response is likely to have read, where its provider does not say. */
  get estimatedInputTokens(): number {
    return Math.min(this.inputTokens, Math.ceil(this.#estimated) + estimateTokens(this.#settingsBytes));
  }

  /** Of the user's audio: the fewest, if its format has been changed. */
  get bytesPerSecond(): number {
    return bytesPerSecond(this.#isCompact);
  }

  /** Of the model's audio. */
  get spokenBytesPerSecond(): number {
    return bytesPerSecond(this.#settings.compactOutput);
  }

  get #settingsBytes(): number {
    return this.#asked.reduce((sum, { change }) => sum + change.bytes, this.#settings.bytes);
  }
}

function settingsAfter(settings: Settings, change: SessionChange): Settings {
  const { maxOutputTokens, beginsResponses, compactOutput } = settings;
  return {
    ...settings,
    maxOutputTokens: change.maxOutputTokens ?? maxOutputTokens,
    beginsResponses: change.beginsResponses ?? beginsResponses,
    compactOutput: change.compactOutput ?? compactOutput,
  };
}

function bytesPerSecond(isCompact: boolean): number {
  return isCompact ? COMPACT_BYTES_PER_SECOND : PCM_BYTES_PER_SECOND;
}
