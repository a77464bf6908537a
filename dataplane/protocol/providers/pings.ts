/** What a stream says between its data. */
import type { ConversationEvent } from '../conversation/events.ts';
import type { SseEvent } from '../sse.ts';

const COLON = 0x3a;
const PING: readonly ConversationEvent[] = [{ type: 'ping' }];
const NOTHING: readonly ConversationEvent[] = [];

/** A comment keeps the connection alive; anything else without data says nothing. */
export function withoutData({ raw }: SseEvent): readonly ConversationEvent[] {
  return raw[0] === COLON ? PING : NOTHING;
}
