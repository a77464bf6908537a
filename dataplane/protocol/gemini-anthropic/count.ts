/** Token counts for clients of Google's protocol, by way of a messages request, at providers that count these. */
import { capabilitiesOf } from '../capabilities.ts';
import type { KnownModels } from '../capabilities.ts';
import { canonicalNames, countedRequest } from '../gemini/names.ts';
import { parseObject, reparseLosslessly, writeJson } from '../json-value.ts';
import type { ProviderKind, TokenCounter } from '../provider.ts';
import { convertToMessage } from './request.ts';

interface CountTarget {
  readonly upstream: ProviderKind;
  /** The provider's models. */
  readonly known: readonly KnownModels[];
}

/** `counter`: of messages. Its request has what counts as input, and no settings. */
export function geminiCounter(counter: TokenCounter, { upstream, known }: CountTarget): TokenCounter {
  return {
    request(body, parsed, plan) {
      const request = countedRequest(canonicalNames(reparseLosslessly(body, parsed)));
      const {
        message: { model, system, messages, tools, tool_choice: choice },
      } = convertToMessage(
        request,
        { ...plan, maxOutputTokens: 1, outputLimitField: 'max_tokens' },
        { upstream, capabilities: capabilitiesOf(known, plan.upstreamModel, undefined), keepsReasoning: false },
      );
      const bytes = Buffer.from(writeJson({ model, system, messages, tools, tool_choice: choice }));
      return counter.request(bytes, parseObject(bytes), plan);
    },
    read: (body) => counter.read(body),
  };
}
