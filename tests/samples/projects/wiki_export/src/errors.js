/** An error that is shown as one line and not with a stack. */
export class LeafmillError extends Error {
  constructor(message, { file } = {}) {
    super(file ? `${file}: ${message}` : message);
    this.name = 'LeafmillError';
    this.file = file;
  }
}
