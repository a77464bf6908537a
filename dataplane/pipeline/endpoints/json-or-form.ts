/** Bodies that are JSON, or a form with files. */
import type { BodyFacts } from '../../protocol/body-kinds.ts';
import { isForm } from '../../protocol/multipart.ts';
import type { BodyForm } from '../../protocol/openai/form-fields.ts';
import type { Received } from '../context.ts';

type FormKind = 'ImageEdits' | 'ImageVariations' | 'Videos' | 'Transcriptions' | 'Translations';

export type FormFacts<Kind extends FormKind> = BodyFacts[Kind] & { readonly form: BodyForm };

export function jsonOrForm<Kind extends FormKind>(kind: Kind): (received: Received) => Promise<FormFacts<Kind>> {
  return async ({ headers, body }) => {
    const header = headers['content-type'];
    const form = typeof header === 'string' && isForm(header) ? header : undefined;
    return { ...(await body.facts(kind, form)), form };
  };
}
