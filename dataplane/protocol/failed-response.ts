/** A 2xx response whose body reports a failure. */
import type { ProviderError } from './converter.ts';

/** The provider's own words and code are kept. */
export class FailedResponse extends SyntaxError {
  override readonly name = 'FailedResponse';
  readonly error: ProviderError;
  constructor(error: ProviderError) {
    super(error.message);
    this.error = error;
  }
}
