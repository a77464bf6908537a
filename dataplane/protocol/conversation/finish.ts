/** Why a response has ended, by what it holds: providers differ in what they call the end of a response with calls. */
import type { FinishReason } from './events.ts';

export function finishWithCalls(reason: FinishReason, calledTools: boolean): FinishReason {
  if (reason === 'Stop' && calledTools) return 'ToolCalls';
  return reason === 'ToolCalls' && !calledTools ? 'Stop' : reason;
}
