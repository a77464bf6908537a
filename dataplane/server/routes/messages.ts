/** POST /v1/messages: Anthropic's messages protocol, whatever protocol the model's provider speaks. */
import { readChat } from '../../pipeline/endpoints/chat.ts';
import type { BilledRoute } from '../billed.ts';
import { PATHS } from '../paths.ts';

export const messages: BilledRoute = { path: PATHS.messages.path, endpoint: 'messages', read: (received) => readChat(received, 'Anthropic') };
