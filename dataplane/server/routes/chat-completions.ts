/** POST /v1/chat/completions: OpenAI's chat protocol, whatever protocol the model's provider speaks. */
import { readChat } from '../../pipeline/endpoints/chat.ts';
import type { BilledRoute } from '../billed.ts';
import { PATHS } from '../paths.ts';

export const chatCompletions: BilledRoute = { path: PATHS.chatCompletions.path, endpoint: 'chat_completions', read: (received) => readChat(received, 'OpenAI') };
