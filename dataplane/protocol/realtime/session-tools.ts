/** Tools and stored prompts of a session or a response, which may make the provider read any amount of input. */
import type { UnboundedUse } from '../call-facts.ts';
import { isGiven, isRecord, itemsOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';

/** What `settings` asks for that has no bound of its own. Functions run at the client. */
export function readTools(settings: JsonRecord, path: string): readonly UnboundedUse[] {
  const tools = itemsOf(settings['tools']).flatMap((tool, index): UnboundedUse[] =>
    isRecord(tool) && tool['type'] === 'function' ? [] : [{ feature: 'ServerTools', param: `${path}.tools[${index}]` }],
  );
  return isGiven(settings['prompt']) ? [...tools, { feature: 'PromptTemplates', param: `${path}.prompt` }] : tools;
}
