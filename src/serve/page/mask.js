// A mask drawn over the image: what is painted is repainted by the model.
export class MaskCanvas {
  constructor() {
    this.element = document.createElement("div");
    this.element.className = "field";
    this.element.innerHTML = `
      <span class="label" id="mask-label">Mask</span>
      <p class="hint" id="mask-hint">Choose an image, then draw over what is to be repainted. With the keyboard: the arrow
        keys move the brush, the space bar paints.</p>
      <div class="canvas" hidden>
        <img alt="The image to be repainted">
        <canvas tabindex="0" role="application" aria-labelledby="mask-label" aria-describedby="mask-hint"></canvas>
      </div>
      <div class="row"><div><label for="brush">Brush</label>
        <input id="brush" type="range" min="2" max="40" value="12"></div>
        <div class="buttons"><button type="button">Clear the mask</button></div></div>
      <label for="mask-file">or a mask as an image (white is repainted)</label>
      <input id="mask-file" type="file" accept="image/png,image/jpeg,image/webp">`;
    this.box = this.element.querySelector(".canvas");
    this.image = this.element.querySelector("img");
    this.canvas = this.element.querySelector("canvas");
    this.brush = this.element.querySelector("#brush");
    this.file = this.element.querySelector("#mask-file");
    this.at = {x: .5, y: .5};
    this.used = false;
    this.element.querySelector("button").addEventListener("click", () => this.clear());
    this.canvas.addEventListener("pointerdown", event => this.begin(event));
    this.canvas.addEventListener("pointermove", event => event.buttons && this.paint(event));
    this.canvas.addEventListener("keydown", event => this.pressed(event));
  }

  async open(file) {
    this.box.hidden = !file;
    if (!file) return;
    this.image.src = URL.createObjectURL(file);
    await this.image.decode();
    this.canvas.width = this.image.naturalWidth;
    this.canvas.height = this.image.naturalHeight;
    this.clear();
  }

  clear() {
    this.canvas.getContext("2d").clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.used = false;
  }

  begin(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.last = null;
    this.paint(event);
  }

  paint(event) {
    const box = this.canvas.getBoundingClientRect();
    this.line({x: (event.clientX - box.left) / box.width, y: (event.clientY - box.top) / box.height});
  }

  // From the last place, or a dot; places are shares of the image.
  line(to) {
    const {width, height} = this.canvas, pen = this.canvas.getContext("2d");
    const from = this.last || to;
    pen.strokeStyle = "white";
    pen.lineCap = "round";
    pen.lineWidth = this.brush.value / 100 * Math.max(width, height);
    pen.beginPath();
    pen.moveTo(from.x * width, from.y * height);
    pen.lineTo(to.x * width + .01, to.y * height);
    pen.stroke();
    this.last = to;
    this.used = true;
  }

  pressed(event) {
    const steps = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key];
    if (!steps && event.key !== " ") return;
    event.preventDefault();
    if (steps) {
      this.at.x = Math.min(1, Math.max(0, this.at.x + steps[0] * .04));
      this.at.y = Math.min(1, Math.max(0, this.at.y + steps[1] * .04));
      this.last = null;
    } else {
      this.line({...this.at});
    }
  }

  // A PNG, white on black; null where nothing was drawn.
  async read() {
    if (this.file.files[0]) return this.file.files[0];
    if (!this.used) return null;
    const flat = document.createElement("canvas");
    flat.width = this.canvas.width;
    flat.height = this.canvas.height;
    const pen = flat.getContext("2d");
    pen.fillRect(0, 0, flat.width, flat.height);
    pen.drawImage(this.canvas, 0, 0);
    return new Promise(resolve => flat.toBlob(resolve, "image/png"));
  }
}
