/**
 * Videos: jobs, priced per video when they are created, on channels whose provider has them. From JSON or a form with
 * files.
 */
import { isForm, parseForm } from '../../protocol/multipart.ts';
import { readVideosFacts } from '../../protocol/openai/videos.ts';
import { providerOf } from '../../protocol/providers.ts';
import type { EndpointCall, Received } from '../context.ts';
import { checkAllowed } from './chat.ts';
import { checkCostFields, costFieldsOf } from './check-cost-fields.ts';

/** Fields that cost more and that the facts below read and bound. */
const KNOWN_FIELDS: ReadonlySet<string> = new Set(['n']);

/** @throws RequestFault */
export function readVideos(received: Received): EndpointCall {
  const header = received.headers['content-type'];
  const form = typeof header === 'string' && isForm(header) ? header : undefined;
  const parsed = form === undefined ? received.body.parse() : received.body.parse((bytes) => parseForm(bytes, form));
  const facts = readVideosFacts(parsed);
  const { imageParam, unbounded } = facts;
  const costFields = costFieldsOf(parsed, 'OpenAI', KNOWN_FIELDS);
  return {
    kind: 'Videos',
    model: facts.model,
    stream: false,
    check: (candidate) => {
      checkAllowed({ images: imageParam === undefined ? 0 : 1, imageParam, unbounded }, candidate.model);
      checkCostFields(costFields, candidate);
    },
    boundInput: () => 0,
    estimateInput: () => 0,
    output: undefined,
    generations: facts.generations,
    oneHourCache: false,
    asksForReasoning: false,
    unbounded: false,
    wantsStreamUsage: false,
    converter: ({ target }) => providerOf(target.protocol).videos?.create(form),
  };
}
