/** POST /v1/responses: OpenAI's responses, on channels of its protocol. */
import { readResponse } from '../../pipeline/endpoints/responses.ts';
import type { BilledRoute } from '../billed.ts';
import { PATHS } from '../paths.ts';

export const responses: BilledRoute = { path: PATHS.responses.path, endpoint: 'responses', read: readResponse };
