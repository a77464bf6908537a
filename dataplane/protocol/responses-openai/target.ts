/**
 * What a request in the Responses dialect is converted for. Requests for Anthropic's messages become chat completions
 * first, of which some parts are Anthropic's own: its thinking, and images in the results of tools.
 */
import type { ModelCapabilities } from '../capabilities.ts';
import type { RequestPlan } from '../converter.ts';
import type { DroppedFields } from '../dropped-fields.ts';
import type { FieldLocation } from '../field-table.ts';

export interface Target {
  /** The provider's protocol, as errors name it. */
  readonly upstream: 'OpenAI' | 'Anthropic';
  readonly plan: RequestPlan;
  readonly capabilities: ModelCapabilities;
  readonly dropped: DroppedFields;
}

/** The place of an object that is converted for this target. */
export function location({ upstream, dropped }: Target, param: string): FieldLocation {
  return { param, upstream, dropped };
}
